// SPDX-License-Identifier: GPL-2.0-only
/*
 * The interrupts of the I/O queues, and the CPUs that take them.
 *
 * The interrupt of a vector that only one queue has is sent to a CPU.  When that CPU
 * goes offline, as all but one do before the machine sleeps, the kernel moves the
 * interrupt to another one, and leaves it there.  It is moved back here when the CPU
 * returns, unless an administrator has chosen another CPU.
 *
 * Managed vectors are not used: they would be shut down with their CPU, after a wait
 * for all commands in flight on them, and an administrator could not move them.
 */
#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/interrupt.h>

#include "nvme.h"

/*
 * The CPU hotplug state that calls put_back() for each controller when a CPU comes
 * online.
 */
static int hotplug_state;

/*
 * Notes whether an administrator has moved an interrupt.  A worker calls this after
 * each move, also one by this module.  While the queue's CPU is offline the move is the
 * kernel's, and nobody's choice.
 */
static void note_choice(struct irq_affinity_notify *choice,
			const cpumask_t *mask)
{
	struct chario_nvme_queue *nq = container_of(choice,
						    struct chario_nvme_queue,
						    irq_choice);

	WRITE_ONCE(nq->irq_is_elsewhere,
		   cpu_online(nq->irq_cpu) &&
		   !cpumask_equal(mask, cpumask_of(nq->irq_cpu)));
}

/*
 * The kernel requires a release function, although the notifier is part of the queue.
 */
static void release_choice(struct kref *ref)
{
}

/*
 * Called before request_irq(), because a started interrupt moves only when it next
 * occurs.  A CPU that is offline gets the interrupt when it comes online.
 */
static void choose_cpu(struct chario_nvme_queue *nq, unsigned int irq, int cpu)
{
	nq->irq_cpu = cpu;
	nq->irq_is_elsewhere = false;
	if (cpu_online(cpu))
		irq_set_affinity_and_hint(irq, cpumask_of(cpu));
}

static int start_irq(struct chario_nvme_queue *nq, unsigned int irq, int cpu)
{
	int ret;

	if (nq->own_vector)
		choose_cpu(nq, irq, cpu);
	ret = request_irq(irq, chario_nvme_queue_irq, IRQF_SHARED, "chario",
			  nq);
	if (ret) {
		if (nq->own_vector)
			irq_update_affinity_hint(irq, NULL);
		return ret;
	}
	nq->irq = irq;
	if (nq->own_vector) {
		nq->irq_choice.notify = note_choice;
		nq->irq_choice.release = release_choice;
		irq_set_affinity_notifier(irq, &nq->irq_choice);
	}
	return 0;
}

/**
 * chario_nvme_queue_request_irq() - request the interrupt of a queue
 * @nq: the queue; nothing is done for a polled one
 * @cpu: CPU that is to take the interrupt
 *
 * Return: 0 or -errno.
 */
int chario_nvme_queue_request_irq(struct chario_nvme_queue *nq, int cpu)
{
	int irq = pci_irq_vector(nq->ctrl->pdev, nq->vector);
	int ret;

	if (nq->core.polled)
		return 0;
	/* No CPU goes online or offline until this has ended. */
	cpus_read_lock();
	ret = start_irq(nq, irq, cpu);
	cpus_read_unlock();
	return ret;
}

/**
 * chario_nvme_queue_free_irq() - free the interrupt of a queue
 * @nq: a queue that raises no more interrupts
 */
void chario_nvme_queue_free_irq(struct chario_nvme_queue *nq)
{
	if (!nq->irq)
		return;
	/* Excludes put_back(). */
	cpus_read_lock();
	if (nq->own_vector) {
		irq_set_affinity_notifier(nq->irq, NULL);
		irq_update_affinity_hint(nq->irq, NULL);
	}
	free_irq(nq->irq, nq);
	nq->irq = 0;
	cpus_read_unlock();
}

/* Moves the interrupts of a CPU back when it has come online. */
static int put_back(unsigned int cpu, struct hlist_node *node)
{
	struct chario_nvme *ctrl = hlist_entry(node, struct chario_nvme,
					       hotplug_node);
	unsigned int i;

	for (i = 0; i < ctrl->drive.nr_queues; i++) {
		struct chario_nvme_queue *nq = chario_nvme_queue_at(ctrl, i);

		if (nq->irq && nq->own_vector && nq->irq_cpu == cpu &&
		    !READ_ONCE(nq->irq_is_elsewhere))
			irq_set_affinity_and_hint(nq->irq, cpumask_of(cpu));
	}
	return 0;
}

/**
 * chario_nvme_irq_attach() - keep the interrupts of a controller on their CPUs
 * @ctrl: a controller with queues whose interrupts have not been requested
 */
void chario_nvme_irq_attach(struct chario_nvme *ctrl)
{
	cpuhp_state_add_instance_nocalls(hotplug_state, &ctrl->hotplug_node);
}

/**
 * chario_nvme_irq_detach() - undo chario_nvme_irq_attach(), if that was called
 * @ctrl: the controller
 */
void chario_nvme_irq_detach(struct chario_nvme *ctrl)
{
	if (!hlist_unhashed(&ctrl->hotplug_node))
		cpuhp_state_remove_instance_nocalls(hotplug_state,
						    &ctrl->hotplug_node);
}

/**
 * chario_nvme_irq_init() - register for CPUs that come online
 *
 * Return: 0 or -errno.
 */
int chario_nvme_irq_init(void)
{
	hotplug_state = cpuhp_setup_state_multi(CPUHP_AP_ONLINE_DYN,
						"chario:online", put_back,
						NULL);
	return min(hotplug_state, 0);
}

/**
 * chario_nvme_irq_exit() - undo chario_nvme_irq_init()
 */
void chario_nvme_irq_exit(void)
{
	cpuhp_remove_multi_state(hotplug_state);
}
