// SPDX-License-Identifier: GPL-2.0-only
/*
 * The pins: power, interrupts and retries, as open files request them.
 *
 * A pin applies to the whole controller.  A setting of the drive is read before it is
 * changed for the first time, and restored when the last file that requests it is
 * closed, and before the drive is released.  A reset of the controller may undo a
 * setting, which is then read and set again, by work that is queued when the controller
 * is up, so that recovery takes no longer.
 *
 * An interrupt vector has a setting too, while it has a queue: all settings are updated
 * when an open file has got a private queue.
 *
 * The limit of the drive's retries applies to commands with Limited Retry (LR), which
 * each command has while a file requests CHARIO_PIN_RETRY.
 */
#include <linux/bits.h>
#include <linux/slab.h>

#include "nvme.h"

/* The shortest time limit of the drive's own retries: 100 ms (5.27.1.4). */
#define RETRY_LIMIT	1

/**
 * struct chario_nvme_setting - a feature of the drive, or a part of one
 * @pin: place of the CHARIO_PIN_* bit that requests the setting
 * @fid: feature identifier
 * @nsid: namespace identifier, or 0
 * @select: bits of dword 11 that select the part
 * @mask: bits of dword 11 that are set
 * @value: wanted value of the bits in @mask
 * @queue: queue of the vector; NULL if the setting is not of a vector
 * @before: value of the feature before the first change
 * @status: result of the last try: 0, an NVMe status, or -errno
 * @known: @before has been read
 * @changed: the feature differs from @before
 */
struct chario_nvme_setting {
	u8 pin;
	u8 fid;
	u32 nsid;
	u32 select;
	u32 mask;
	u32 value;
	const struct chario_nvme_queue *queue;
	u32 before;
	int status;
	bool known;
	bool changed;
};

static u32 absent(const struct chario_nvme *ctrl)
{
	u32 pins = 0, link = 0;

	pcie_capability_read_dword(ctrl->pdev, PCI_EXP_LNKCAP, &link);
	if (!(link & PCI_EXP_LNKCAP_ASPMS))
		pins |= CHARIO_PIN_LINK;
	if (!ctrl->autonomous)
		pins |= CHARIO_PIN_APST;
	if (ctrl->power_states < 2)
		pins |= CHARIO_PIN_POWER_STATE;
	if (!IS_ENABLED(CONFIG_CPU_IDLE))
		pins |= CHARIO_PIN_CPU;
	return pins;
}

/* Runs Get Features or Set Features.  Returns 0, an NVMe status, or -errno. */
static int run_feature(struct chario_nvme *ctrl, u8 opcode,
		       const struct chario_nvme_setting *s, u32 dword11,
		       u32 *result)
{
	struct chario_nvme_power *power = &ctrl->power;
	struct chario_nvme_admin_answer answer;
	u8 data[sizeof(power->transitions)];
	struct nvme_command c = { };
	int ret;

	c.features.opcode = opcode;
	c.features.nsid = cpu_to_le32(s->nsid);
	c.features.fid = cpu_to_le32(s->fid);
	c.features.dword11 = cpu_to_le32(dword11);
	if (s->fid == NVME_FEAT_AUTO_PST) {
		memcpy(data, power->transitions, sizeof(data));
		ret = chario_nvme_admin_exchange(ctrl, &c, data, sizeof(data),
						 &answer);
		if (!ret && !s->known)
			memcpy(power->transitions, data, sizeof(data));
	} else {
		ret = chario_nvme_admin_ask(ctrl, &c, &answer);
	}
	if (ret)
		return ret;
	*result = answer.result;
	return answer.status & 0x7ff;
}

static int get_feature(struct chario_nvme *ctrl,
		       const struct chario_nvme_setting *s, u32 *value)
{
	return run_feature(ctrl, nvme_admin_get_features, s, s->select, value);
}

static int set_feature(struct chario_nvme *ctrl,
		       const struct chario_nvme_setting *s, u32 value)
{
	u32 ignored;

	return run_feature(ctrl, nvme_admin_set_features, s, s->select | value,
			   &ignored);
}

/* Changes a setting that has not the wanted value, and verifies the change. */
static int pin_setting(struct chario_nvme *ctrl, struct chario_nvme_setting *s)
{
	u32 now;
	int ret;

	ret = get_feature(ctrl, s, &now);
	if (ret)
		return ret;
	if (!s->known)
		s->before = now;
	s->known = true;
	if ((now & s->mask) == s->value)
		return 0;
	ret = set_feature(ctrl, s, (now & ~s->mask) | s->value);
	if (ret)
		return ret;
	s->changed = true;
	ret = get_feature(ctrl, s, &now);
	if (ret)
		return ret;
	return (now & s->mask) == s->value ? 0 : -EIO;
}

/* Is this the status of a setting that is tried again after a reset? */
static bool is_for_later(int status)
{
	return status == -EAGAIN || status == -ECANCELED;
}

/*
 * Restores a setting; if the drive does not answer, this is repeated at the next
 * update.
 */
static int restore_setting(struct chario_nvme *ctrl,
			   struct chario_nvme_setting *s)
{
	int status = s->changed ? set_feature(ctrl, s, s->before) : 0;

	if (status < 0)
		return status;
	if (status)
		dev_warn_ratelimited(&ctrl->pdev->dev,
				     "feature 0x%02x stays changed: status 0x%03x\n",
				     s->fid, status);
	s->changed = false;
	s->known = false;
	return 0;
}

/* Is this the setting of a vector without a queue, which cannot be set (5.27.1.7)? */
static bool has_no_queue(const struct chario_nvme_setting *s)
{
	return s->queue && (!READ_ONCE(s->queue->created) ||
			    s->queue->core.polled);
}

/*
 * Sets each setting that is requested and restores the others, or restores all if @keep
 * is false.  When the drive has not answered once, it is not asked for the other
 * settings.
 */
static void update_settings(struct chario_nvme *ctrl, bool keep)
{
	struct chario_nvme_power *power = &ctrl->power;
	int broken = 0;
	unsigned int i;

	for (i = 0; i < power->nr_settings; i++) {
		struct chario_nvme_setting *s = &power->settings[i];
		bool wanted = keep && power->users[s->pin];
		int ret = broken;

		if (has_no_queue(s)) {
			s->status = 0;
			continue;
		}
		if (!ret && wanted)
			ret = pin_setting(ctrl, s);
		else if (!ret)
			ret = restore_setting(ctrl, s);
		s->status = wanted || ret ? ret : -EAGAIN;
		if (ret < 0 && ret != -EIO)
			broken = ret;
	}
}

static void hold_cpus(struct chario_nvme_power *power, bool hold)
{
	if (hold == cpu_latency_qos_request_active(&power->qos))
		return;
	if (hold)
		cpu_latency_qos_add_request(&power->qos, 0);
	else
		cpu_latency_qos_remove_request(&power->qos);
}

static struct chario_nvme_setting *power_add(struct chario_nvme_power *power, u32 pin,
					     u8 fid, u32 mask, u32 value)
{
	struct chario_nvme_setting *s;

	s = &power->settings[power->nr_settings++];
	memset(s, 0, sizeof(*s));
	s->pin = __ffs(pin);
	s->fid = fid;
	s->mask = mask;
	s->value = value;
	s->status = -EAGAIN;
	return s;
}

static void add_vector(struct chario_nvme_power *power,
		       const struct chario_nvme_queue *nq)
{
	struct chario_nvme_setting *s;

	s = power_add(power, CHARIO_PIN_VECTORS, NVME_FEAT_IRQ_CONFIG, BIT(16),
		      BIT(16));
	s->select = nq->vector;
	s->queue = nq;
}

static void add_retry(struct chario_nvme_power *power, u32 nsid)
{
	power_add(power, CHARIO_PIN_RETRY, NVME_FEAT_ERR_RECOVERY, GENMASK(15, 0),
		  RETRY_LIMIT)->nsid = nsid;
}

/*
 * Lists the settings that this drive has (5.27.1); each namespace in the first places has a
 * retry limit.
 */
static void list_settings(struct chario_nvme *ctrl, unsigned int places)
{
	struct chario_nvme_power *power = &ctrl->power;
	u32 not_there = absent(ctrl);
	unsigned int i;

	if (!(not_there & CHARIO_PIN_APST))
		power_add(power, CHARIO_PIN_APST, NVME_FEAT_AUTO_PST, BIT(0), 0);
	if (!(not_there & CHARIO_PIN_POWER_STATE))
		power_add(power, CHARIO_PIN_POWER_STATE, NVME_FEAT_POWER_MGMT,
			  GENMASK(4, 0), 0);
	power_add(power, CHARIO_PIN_COALESCING, NVME_FEAT_IRQ_COALESCE,
		  GENMASK(15, 0), 0);
	for (i = 0; i < ctrl->drive.nr_queues; i++)
		add_vector(power, chario_nvme_queue_at(ctrl, i));
	for (i = 0; i < places; i++) {
		struct chario_disk *disk = chario_nvme_disks_get(ctrl, i);

		if (!disk)
			continue;
		if (!READ_ONCE(disk->removed))
			add_retry(power, disk->namespace_id);
		put_device(&disk->dev);
	}
}

static int make_settings(struct chario_nvme *ctrl)
{
	struct chario_nvme_power *power = &ctrl->power;
	unsigned int places = READ_ONCE(ctrl->nr_disks);
	unsigned int most = 3 + ctrl->drive.nr_queues + places;

	if (power->settings)
		return 0;
	power->settings = kcalloc(most, sizeof(*power->settings), GFP_KERNEL);
	if (!power->settings)
		return -ENOMEM;
	list_settings(ctrl, places);
	return 0;
}

static bool is_live(const struct chario_nvme *ctrl)
{
	return READ_ONCE(ctrl->drive.state) == CHARIO_DRIVE_LIVE;
}

static bool power_is_wanted(const struct chario_nvme_power *power, u32 pin)
{
	return power->users[__ffs(pin)];
}

/* Makes all commands ask for limited retries, to which the limit applies, or none. */
static void limit_retries(struct chario_nvme *ctrl, bool limited)
{
	unsigned int i;

	for (i = 0; i < READ_ONCE(ctrl->nr_disks); i++) {
		struct chario_disk *disk = chario_nvme_disks_get(ctrl, i);

		if (!disk)
			continue;
		WRITE_ONCE(disk->control, limited ? CHARIO_CONTROL_LIMITED_RETRY : 0);
		put_device(&disk->dev);
	}
}

/* Applies the current requests of all files. */
static void update(struct chario_nvme *ctrl)
{
	struct chario_nvme_power *power = &ctrl->power;

	hold_cpus(power, power_is_wanted(power, CHARIO_PIN_CPU));
	limit_retries(ctrl, power_is_wanted(power, CHARIO_PIN_RETRY));
	if (!is_live(ctrl))
		return;
	if (power_is_wanted(power, CHARIO_PIN_LINK))
		chario_nvme_aspm_pin(ctrl);
	else
		chario_nvme_aspm_restore(ctrl);
	update_settings(ctrl, true);
}

static bool is_asked_for(const struct chario_nvme_power *power)
{
	return memchr_inv(power->users, 0, sizeof(power->users));
}

static void update_later(struct work_struct *work)
{
	struct chario_nvme_power *power =
		container_of(work, struct chario_nvme_power, work);
	struct chario_nvme *ctrl = container_of(power, struct chario_nvme,
						power);

	mutex_lock(&power->lock);
	/* Files may have requested pins before the drive was live. */
	if (!power->detached &&
	    (power->settings || is_asked_for(power)) && !make_settings(ctrl))
		update(ctrl);
	mutex_unlock(&power->lock);
}

static void count(struct chario_nvme_power *power, u32 *held, u32 wanted)
{
	unsigned int i;

	for (i = 0; i < CHARIO_NR_PINS; i++) {
		power->users[i] += !!(wanted & BIT(i));
		power->users[i] -= !!(*held & BIT(i));
	}
	*held = wanted;
}

static int power_change(struct chario_nvme *ctrl, u32 *held, u32 wanted)
{
	struct chario_nvme_power *power = &ctrl->power;
	int ret = 0;

	if (power->detached && wanted)
		return -ENODEV;
	if (wanted && is_live(ctrl))
		ret = make_settings(ctrl);
	if (ret)
		return ret;
	count(power, held, wanted);
	if (!power->detached)
		update(ctrl);
	return 0;
}

/**
 * chario_nvme_power_pin() - see &struct chario_backend
 * @disk: the disk
 * @held: pins that the file has requested so far
 * @wanted: pins that the file requests from now on
 *
 * Context: sleeps for as long as the drive takes for some admin commands, and for those
 * of other callers.
 * Return: 0, also if the drive refuses; ENODEV; ENOMEM; EINTR on a fatal signal, unless
 * @wanted is 0.
 */
int chario_nvme_power_pin(struct chario_disk *disk, u32 *held, u32 wanted)
{
	struct chario_nvme *ctrl = to_nvme(disk->drive);
	int ret;

	if (!wanted)
		mutex_lock(&ctrl->power.lock);
	else if (mutex_lock_killable(&ctrl->power.lock))
		return -EINTR;
	ret = power_change(ctrl, held, wanted);
	mutex_unlock(&ctrl->power.lock);
	return ret;
}

/* Returns the retry limit of a namespace among the settings, or NULL. */
static struct chario_nvme_setting *find_retry(struct chario_nvme_power *power, u32 nsid)
{
	unsigned int i;

	for (i = 0; i < power->nr_settings; i++)
		if (power->settings[i].fid == NVME_FEAT_ERR_RECOVERY &&
		    power->settings[i].nsid == nsid)
			return &power->settings[i];
	return NULL;
}

/**
 * chario_nvme_power_add() - let the pins of open files hold for a namespace that has come
 * @ctrl: a live controller, which has the disk of the namespace
 * @nsid: identifier of the namespace
 *
 * Context: may sleep.
 */
void chario_nvme_power_add(struct chario_nvme *ctrl, u32 nsid)
{
	struct chario_nvme_power *power = &ctrl->power;
	struct chario_nvme_setting *more;

	mutex_lock(&power->lock);
	if (power->settings && !find_retry(power, nsid)) {
		more = krealloc(power->settings,
				array_size(power->nr_settings + 1, sizeof(*more)), GFP_KERNEL);
		if (more) {
			power->settings = more;
			add_retry(power, nsid);
		} else {
			dev_warn(&ctrl->pdev->dev,
				 "no memory for the retry limit of namespace %u, which stays as it is\n",
				 nsid);
		}
	}
	mutex_unlock(&power->lock);
	queue_work(system_unbound_wq, &power->work);
}

/**
 * chario_nvme_power_remove() - forget the settings of a namespace that has gone
 * @ctrl: the controller
 * @nsid: identifier of the namespace
 *
 * Context: may sleep.
 */
void chario_nvme_power_remove(struct chario_nvme *ctrl, u32 nsid)
{
	struct chario_nvme_power *power = &ctrl->power;
	struct chario_nvme_setting *s;

	mutex_lock(&power->lock);
	s = find_retry(power, nsid);
	if (s)
		*s = power->settings[--power->nr_settings];
	mutex_unlock(&power->lock);
}

/*
 * Returns the status of the first setting that keeps a pin from being in force: 0, an
 * NVMe status, or -errno.
 */
static int status_of(const struct chario_nvme_power *power, unsigned int pin)
{
	unsigned int i;

	if (BIT(pin) == CHARIO_PIN_LINK)
		return power->link_off ? power->link_status : -EAGAIN;
	if (BIT(pin) == CHARIO_PIN_CPU)
		return 0;
	if (!power->settings)
		return -EAGAIN;
	for (i = 0; i < power->nr_settings; i++)
		if (power->settings[i].pin == pin && power->settings[i].status)
			return power->settings[i].status;
	return 0;
}

static void describe(const struct chario_nvme_power *power, unsigned int i,
		     struct chario_pin *pin)
{
	int status = status_of(power, i);

	if (pin->absent & BIT(i))
		status = 0;
	pin->status[i] = status;
	if (!status)
		pin->in_force |= BIT(i);
	else if (!is_for_later(status))
		pin->refused |= BIT(i);
}

/**
 * chario_nvme_power_get() - see &struct chario_backend
 * @disk: the disk
 * @held: pins that the file requests
 * @pin: filled in
 *
 * Return: 0; EINTR on a fatal signal.
 */
int chario_nvme_power_get(struct chario_disk *disk, u32 held,
			  struct chario_pin *pin)
{
	struct chario_nvme *ctrl = to_nvme(disk->drive);
	struct chario_nvme_power *power = &ctrl->power;
	unsigned int i;

	if (mutex_lock_killable(&power->lock))
		return -EINTR;
	pin->wanted = held;
	if (!power->detached) {
		pin->absent = absent(ctrl) & held;
		for (i = 0; i < CHARIO_NR_PINS; i++)
			if (held & BIT(i))
				describe(power, i, pin);
	}
	mutex_unlock(&power->lock);
	return 0;
}

/**
 * chario_nvme_power_restore() - restore the settings of the drive
 * @ctrl: a controller that accepts admin commands, and whose pins are not updated
 *	meanwhile
 *
 * The pins of open files are set again when the controller has been reset.
 */
void chario_nvme_power_restore(struct chario_nvme *ctrl)
{
	struct chario_nvme_power *power = &ctrl->power;

	mutex_lock(&power->lock);
	update_settings(ctrl, false);
	chario_nvme_aspm_restore(ctrl);
	mutex_unlock(&power->lock);
}

/**
 * chario_nvme_power_init() - initialize the pins, of which none is set
 * @ctrl: the controller
 */
void chario_nvme_power_init(struct chario_nvme *ctrl)
{
	mutex_init(&ctrl->power.lock);
	INIT_WORK(&ctrl->power.work, update_later);
}

/**
 * chario_nvme_power_detach() - release the drive, whose files may stay open
 * @ctrl: a controller that no recovery brings up any more
 */
void chario_nvme_power_detach(struct chario_nvme *ctrl)
{
	struct chario_nvme_power *power = &ctrl->power;

	mutex_lock(&power->lock);
	chario_nvme_aspm_restore(ctrl);
	hold_cpus(power, false);
	power->detached = true;
	mutex_unlock(&power->lock);
	cancel_work_sync(&power->work);
}

/**
 * chario_nvme_power_deinit() - undo chario_nvme_power_init()
 * @ctrl: a detached controller without open files
 */
void chario_nvme_power_deinit(struct chario_nvme *ctrl)
{
	kfree(ctrl->power.settings);
}
