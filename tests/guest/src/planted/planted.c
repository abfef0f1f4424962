// SPDX-License-Identifier: MIT
/*
 * A module that makes one mistake when it is loaded, chosen by its parameter.
 * Every checker of the lab's kernels has to find the one that is meant for it:
 * a checker that is silent here would be silent about chario.ko too.
 */

#include <linux/dma-mapping.h>
#include <linux/kthread.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/timer.h>

static char *mistake = "";
module_param(mistake, charp, 0);
MODULE_PARM_DESC(mistake, "what to do wrong");

static DEFINE_MUTEX(first);
static DEFINE_MUTEX(second);
static DEFINE_SPINLOCK(spinning);
static unsigned long raced;

static void lock_both_ways(void)
{
	mutex_lock(&first);
	mutex_lock(&second);
	mutex_unlock(&second);
	mutex_unlock(&first);
	mutex_lock(&second);
	mutex_lock(&first);
	mutex_unlock(&first);
	mutex_unlock(&second);
}

static void sleep_under_spinlock(void)
{
	spin_lock(&spinning);
	might_sleep();
	spin_unlock(&spinning);
}

static void unmap_half(void)
{
	struct pci_dev *pdev = pci_get_class(PCI_CLASS_STORAGE_EXPRESS, NULL);
	void *data = kmalloc(PAGE_SIZE, GFP_KERNEL);
	dma_addr_t address;

	if (pdev && data) {
		address = dma_map_single(&pdev->dev, data, PAGE_SIZE, DMA_TO_DEVICE);
		dma_unmap_single(&pdev->dev, address, 512, DMA_TO_DEVICE);
	}
	kfree(data);
	pci_dev_put(pdev);
}

static void use_after_free(void)
{
	char *data = kmalloc(64, GFP_KERNEL);

	OPTIMIZER_HIDE_VAR(data);
	kfree(data);
	WRITE_ONCE(data[3], 1);
}

static void write_past_the_end(void)
{
	char *data = kmalloc(64, GFP_KERNEL);

	OPTIMIZER_HIDE_VAR(data);
	WRITE_ONCE(data[64], 1);
	kfree(data);
}

static void leak(void)
{
	void *data = kmalloc(77, GFP_KERNEL);

	OPTIMIZER_HIDE_VAR(data);
}

static void shift_too_far(void)
{
	int by = 40;

	OPTIMIZER_HIDE_VAR(by);
	pr_info("planted: %d\n", 1 << by);
}

static void index_too_high(void)
{
	static int array[4];
	int place = 9;

	OPTIMIZER_HIDE_VAR(place);
	pr_info("planted: %d\n", array[place]);
}

static void add_twice(void)
{
	static LIST_HEAD(list);
	static LIST_HEAD(entry);

	list_add(&entry, &list);
	list_add(&entry, &list);
	INIT_LIST_HEAD(&list);
}

static void no_call(struct timer_list *timer)
{
}

static void free_armed_timer(void)
{
	struct timer_list *timer = kmalloc(sizeof(*timer), GFP_KERNEL);

	if (!timer)
		return;
	timer_setup(timer, no_call, 0);
	mod_timer(timer, jiffies + 3600 * HZ);
	kfree(timer);
}

static int count_until_told(void *unused)
{
	while (!kthread_should_stop()) {
		raced++;
		cond_resched();
	}
	return 0;
}

static void race(void)
{
	struct task_struct *other = kthread_run(count_until_told, NULL, "planted");
	int i;

	if (IS_ERR(other))
		return;
	/* As many accesses as have to be for some of them to be watched. */
	for (i = 0; i < 1000000; i++) {
		raced++;
		barrier();
	}
	kthread_stop(other);
}

static void warn(void)
{
	WARN(1, "planted\n");
}

static const struct {
	const char *name;
	void (*make)(void);
} mistakes[] = {
	{ "lock-both-ways", lock_both_ways },
	{ "sleep-under-spinlock", sleep_under_spinlock },
	{ "unmap-half", unmap_half },
	{ "use-after-free", use_after_free },
	{ "write-past-the-end", write_past_the_end },
	{ "leak", leak },
	{ "shift-too-far", shift_too_far },
	{ "index-too-high", index_too_high },
	{ "add-twice", add_twice },
	{ "free-armed-timer", free_armed_timer },
	{ "race", race },
	{ "warn", warn },
};

static int __init planted_init(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(mistakes); i++) {
		if (!strcmp(mistakes[i].name, mistake)) {
			mistakes[i].make();
			return 0;
		}
	}
	return -EINVAL;
}

static void __exit planted_exit(void)
{
}

module_init(planted_init);
module_exit(planted_exit);
MODULE_DESCRIPTION("Makes one mistake that a checker of the kernel has to find");
MODULE_LICENSE("Dual MIT/GPL");
