// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* The memory that an open device pins. */
#include <chario/pin.h>

#include <errno.h>
#include <string.h>

#include "device/ops.h"

/* Size in bytes of the first version of the struct. */
#define PIN_MIN 88

static const char *const names[] = {
	"apst", "power-state", "coalescing", "vectors", "retry", "cpu", "link",
};

int chario_pin_set(const struct chario_device *device, uint32_t wanted, struct chario_pin *pin,
		   size_t size)
{
	int ret;

	if (size < PIN_MIN || size > UINT32_MAX)
		return -EINVAL;
	memset(pin, 0, size);
	pin->size = (uint32_t)size;
	pin->wanted = wanted;
	ret = chario_device_ioctl(device, CHARIO_IOC_SET_PIN, pin);
	return ret < 0 ? ret : 0;
}

int chario_pin_get(const struct chario_device *device, struct chario_pin *pin, size_t size)
{
	return chario_device_get(device, CHARIO_IOC_GET_PIN, pin, size, PIN_MIN);
}

const char *chario_pin_name(unsigned int place)
{
	return place < sizeof(names) / sizeof(names[0]) ? names[place] : NULL;
}
