// SPDX-License-Identifier: MIT
/*
 * Functions whose instructions are known, for the tests of the plugin that
 * counts: the name of one, written to the parameter `call`, calls it.
 */

#include <linux/linkage.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/string.h>

#define COPIED_BYTES 4096

/* functions.S */
asmlinkage void known_loop(void *to, const void *from);
asmlinkage void known_chain(void *to, const void *from);
asmlinkage void known_copy(void *to, const void *from);

static const struct {
	const char *name;
	void (*call)(void *to, const void *from);
} functions[] = {
	{ "loop", known_loop },
	{ "chain", known_chain },
	{ "copy", known_copy },
};

static u8 from[COPIED_BYTES], to[COPIED_BYTES];

static int set_call(const char *name, const struct kernel_param *param)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(functions); i++) {
		if (sysfs_streq(functions[i].name, name)) {
			functions[i].call(to, from);
			return 0;
		}
	}
	return -EINVAL;
}

static const struct kernel_param_ops ops = { .set = set_call };
module_param_cb(call, &ops, NULL, 0200);
MODULE_PARM_DESC(call, "name of the function to call");
MODULE_DESCRIPTION("Functions whose instructions are known");
MODULE_LICENSE("Dual MIT/GPL");
