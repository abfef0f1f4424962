/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The back end `nvme`: a lean driver of NVMe controllers on PCI Express.
 *
 *   pci.c       probe and remove, vectors, callbacks of the PCI core
 *   nvme.c      the structure of a controller
 *   disk.c      a disk, made of a namespace
 *   disks.c     the disks, as namespaces come and go
 *   ctrl.c      registers: enable, disable, shut down
 *   cmb.c       controller memory
 *   identify.c  the Identify commands
 *   identity.c  the check that drive and namespaces are the same
 *   admin.c     the admin queue
 *   pairs.c     the admin commands about I/O queues
 *   queues.c    the I/O queues: make, create, delete, free
 *   queue.c     the hot path of an I/O queue: post, kick, reap
 *   irq.c       the interrupts of I/O queues, and the CPUs that take them
 *   private.c   the queues that open files have for themselves
 *   prp.c       the PRP entries of segments
 *   table.c     the PRP entries of buffers, made once
 *   power.c     the pins: power states, coalescing and retries
 *   aspm.c      the power management of the link
 *   health.c    the SMART / Health log page
 *   event.c     asynchronous events
 *   status.c    the errnos of status codes
 *   report.c    the log of error statuses
 *   reset.c     the drive operations for the core's recovery
 *   link.c      the recovery from a failure of the link
 *
 * Registers and command layouts come from <linux/nvme.h>; sections that comments cite
 * are those of the NVM Express Base Specification 2.0.
 */
#ifndef CHARIO_NVME_H
#define CHARIO_NVME_H

#include <linux/completion.h>
#include <linux/interrupt.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/nvme.h>
#include <linux/pci.h>
#include <linux/pm_qos.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "disk/disk.h"
#include "drive/drive.h"
#include "queue/queue.h"

#include "admin-queue.h"

/* The phase bit in the last word of a completion, see queue.c. */
#define CHARIO_NVME_PHASE	BIT(16)

/* The largest number of entries of an I/O queue. */
#define CHARIO_NVME_MAX_DEPTH	1024

/* The number of identifiers in the list of active namespaces (5.17.2.2). */
#define CHARIO_NVME_MAX_LISTED	1024U

/*
 * The number of failed commands that are noted while the log is busy; a power of two.
 */
#define CHARIO_NVME_REPORTS	16

/**
 * struct chario_nvme_failure - a command that has failed
 * @offset: byte offset on the disk
 * @bytes: length in bytes
 * @disk: index of the disk
 * @status: status code type and status code
 * @op: &enum chario_op
 */
struct chario_nvme_failure {
	u64 offset;
	u32 bytes;
	int disk;
	u16 status;
	u8 op;
};

/**
 * struct chario_nvme_reports - failures on their way to the log
 * @lock: protects all members but @work
 * @head: index of the next failure to log
 * @tail: index of the next failure to note
 * @lost: number of failures for which there was no room
 * @ring: the failures; indices only grow and are taken modulo its length
 * @work: writes the failures to the log
 */
struct chario_nvme_reports {
	raw_spinlock_t lock;
	unsigned int head;
	unsigned int tail;
	unsigned int lost;
	struct chario_nvme_failure ring[CHARIO_NVME_REPORTS];
	struct work_struct work;
};

/**
 * struct chario_nvme_power - the pins of a drive, see power.c
 * @lock: protects all members but @work
 * @users: for each CHARIO_PIN_* bit, the number of open files that request it
 * @settings: settings of the drive; NULL until a pin is requested
 * @nr_settings: length of @settings
 * @transitions: table of autonomous power state transitions before the pin
 * @link_before: link control bits of the drive and of the port above it before the pin
 * @link_status: -EIO if a link control register did not change, else 0
 * @link_off: power management of the link has been turned off
 * @qos: request that keeps the CPUs out of idle states
 * @detached: the drive is being released, and nothing is set any more
 * @work: sets again what a reset has undone
 */
struct chario_nvme_power {
	struct mutex lock; /* all but the work */
	unsigned int users[CHARIO_NR_PINS];
	struct chario_nvme_setting *settings;
	unsigned int nr_settings;
	u8 transitions[256];
	u16 link_before[2];
	int link_status;
	bool link_off;
	struct pm_qos_request qos;
	bool detached;
	struct work_struct work;
};

/**
 * struct chario_nvme_health - the health of a drive, see health.c
 * @lock: protects all members but @warning_k, @critical_k and @events
 * @log: log page as it was last read
 * @result: result of the last read: 0 or -errno
 * @read_at: time of the last read in jiffies
 * @read_ns: time of the last read in nanoseconds of CLOCK_MONOTONIC
 * @is_read: @result is valid for a second from @read_at
 * @has_log: @log has been read
 * @has_throttled: the drive has throttled in the last minute
 * @throttled_at: time at which that was noticed, in jiffies
 * @detached: the drive is being released
 * @warning_k: temperature from which the drive is too hot, in kelvin; 0 if not reported
 * @critical_k: temperature from which the drive may stop, in kelvin; 0 if not reported
 * @events: number of events that the drive has reported
 */
struct chario_nvme_health {
	struct mutex lock; /* the log page */
	struct nvme_smart_log log;
	int result;
	unsigned long read_at;
	u64 read_ns;
	bool is_read;
	bool has_log;
	bool has_throttled;
	unsigned long throttled_at;
	bool detached;
	u16 warning_k;
	u16 critical_k;
	u32 events;
};

/**
 * struct chario_nvme_descriptors - the descriptors of a namespace, which have a list of their own
 * @command_set: NVME_CSI_*; that of NVM, 0, if it tells none
 * @uuid: 128-bit identifier, or zero
 */
struct chario_nvme_descriptors {
	u8 command_set;
	u8 uuid[NVME_NIDT_UUID_LEN];
};

/**
 * struct chario_nvme_events - asynchronous events, see event.c
 * @on: events are waited for; changes under admin.lock
 * @arrived: a request has ended; changes under admin.lock
 * @refused: the drive refuses such requests, until the next reset
 * @configured: the drive knows which events are wanted
 * @asked: number of checks of the namespaces that somebody waits for; changes under admin.lock
 * @answered: number of these that have been made
 * @result: 0 or -errno of the last of them
 * @tries: number of failed reads of the log page of the current event
 * @earliest: time in jiffies before which the next event is not attended to; under
 *	admin.lock
 * @scan: function of disks.c that makes disks of namespaces that have come, and takes away
 *	those of namespaces that have gone.  The disks have been checked; only @work calls it.
 *	Returns 0 or -errno
 * @page: memory for answers of the drive; only @work and probe() use it
 * @nsids: memory for the list of active namespaces; the same
 * @work: attends to events
 */
struct chario_nvme_events {
	bool on;
	bool arrived;
	bool refused;
	bool configured;
	unsigned int asked;
	unsigned int answered;
	int result;
	unsigned int tries;
	unsigned long earliest;
	int (*scan)(struct chario_nvme *ctrl);
	void *page;
	u32 *nsids;
	struct delayed_work work;
};

/**
 * struct chario_nvme - a controller
 * @drive: drive of the core, with state, recovery and I/O queues: those with an
 *	interrupt first, each with its index + 1 as its identifier
 * @ref: reference count; the PCI device and each disk hold one
 * @pdev: PCI device; valid until remove() has returned
 * @bar: registers; NULL after remove()
 * @cap: Controller Capabilities
 * @cmb: controller memory, or NULL
 * @cmb_bus: bus address of @cmb
 * @page_shift: shift of the controller's memory page (CC.MPS)
 * @doorbell_bytes: distance of two doorbells in bytes
 * @max_queues: number of queue pairs whose doorbells lie in the BAR
 * @ready_ms: longest wait for CSTS.RDY in milliseconds
 * @shutdown_ms: longest wait for a shutdown in milliseconds
 * @nr_vectors: number of interrupt vectors
 * @level: interrupts are those of a pin, INTx
 * @hotplug_node: entry in the list of CPU hotplug, see irq.c
 * @admin: the admin queue
 * @nr_irq: number of shared queues with an interrupt
 * @depth: number of entries of an I/O queue
 * @max_command_bytes: largest command in bytes that drive, DMA layer and slots allow
 * @command_limit: &enum chario_command_limit, the one that allows least
 * @write_cache: the drive has a volatile write cache
 * @discard_ranges: largest number of ranges of a discard that the drive takes; 0 for none
 * @discard_blocks: largest number of blocks of a discard; 0 for no limit
 * @zeroes_bytes: largest number of bytes that one command zeroes; 0 if there is no such
 *	command
 * @nr_block: number of queue pairs that the drive grants for the block side
 * @nr_planned: number of queue pairs that are requested again after a reset: all that there
 *	are, and those of the block side, which may be made later
 * @awupf: number of blocks that a power cut does not tear, less one (AWUPF)
 * @power_states: number of power states
 * @autonomous: the drive can change its power state by itself (APSTA)
 * @nn: largest namespace identifier
 * @serial: see &struct chario_info
 * @model: see &struct chario_info
 * @firmware: see &struct chario_info
 * @vid: PCI vendor identifier, as the drive reports it
 * @sn: serial number as the drive reports it, padded, for comparing
 * @mn: model number as the drive reports it, padded, for comparing
 * @has_namespace_events: the drive reports changes of namespaces
 * @lists_namespaces: the drive lists the active namespaces
 * @identities: identity of each disk in @disks
 * @identify_page: memory for the answers that a reset needs; under drive.lock
 * @disks: places of disks, one for each namespace that can be driven; NULL if free.  They
 *	change in the work of events, in probe() and in remove() only
 * @disks_lock: protects @disks against others than these
 * @nr_disks: number of places that are or were taken; only grows
 * @refusals: namespaces without a disk, and why; see disks.c
 * @gives_block: a disk that is made from now on gets a block disk
 * @block_work: makes these block disks
 * @link_work: chario_nvme_link_check()
 * @link_deadline: time in jiffies at which a link that has failed is given up
 * @reports: failed commands
 * @power: pins
 * @health: health of the drive
 * @events: asynchronous events
 */
struct chario_nvme {
	struct chario_drive drive;
	struct kref ref;
	struct pci_dev *pdev;
	void __iomem *bar;
	u64 cap;
	struct chario_cmb *cmb;
	u64 cmb_bus;
	unsigned int page_shift;
	unsigned int doorbell_bytes;
	unsigned int max_queues;
	unsigned int ready_ms;
	unsigned int shutdown_ms;
	unsigned int nr_vectors;
	bool level;
	struct hlist_node hotplug_node;
	struct chario_nvme_admin admin;
	unsigned int nr_irq;
	unsigned int depth;
	u32 max_command_bytes;
	u32 command_limit;
	bool write_cache;
	unsigned int discard_ranges;
	u32 discard_blocks;
	u32 zeroes_bytes;
	unsigned int nr_block;
	unsigned int nr_planned;
	__le16 awupf;
	unsigned int power_states;
	bool autonomous;
	u32 nn;
	char serial[24];
	char model[48];
	char firmware[16];
	u16 vid;
	char sn[20];
	char mn[40];
	bool has_namespace_events;
	bool lists_namespaces;
	struct chario_nvme_identity *identities;
	void *identify_page;
	struct chario_disk **disks;
	spinlock_t disks_lock; /* disks */
	unsigned int nr_disks;
	struct chario_nvme_refusal *refusals;
	bool gives_block;
	struct delayed_work block_work;
	struct delayed_work link_work;
	unsigned long link_deadline;
	struct chario_nvme_reports reports;
	struct chario_nvme_power power;
	struct chario_nvme_health health;
	struct chario_nvme_events events;
};

/**
 * struct chario_nvme_queue - an I/O queue pair
 * @core: queue of the core
 * @ctrl: the controller
 * @sqes: submission ring
 * @cqes: completion ring
 * @cqes_end: end of @cqes
 * @sq_doorbell: tail doorbell
 * @cq_doorbell: head doorbell
 * @entries: number of entries of either ring
 * @page_mask: size of the controller's memory page in bytes, less one
 * @level: the interrupt is that of a pin, INTx
 * @created: the queue exists on the controller, and its doorbells may be rung
 * @reaped_at_irq: core.reaped at the last interrupt
 * @tail: tail of @sqes
 * @rung: tail that the controller has been told
 * @head: entry of @cqes where the next completion comes
 * @unrung: number of reaped completions that the controller has not been told of
 * @qid: identifier of the queue
 * @tag_mask: mask of the tag in a command identifier
 * @lists: PRP lists, one for each command
 * @list_bytes: size of a list in bytes, a power of two, at most a page of the
 *	controller
 * @list_dma: DMA address of @lists
 * @sq_dma: DMA address of @sqes
 * @cq_dma: DMA address of @cqes
 * @vector: index of the interrupt vector
 * @own_vector: no other queue shares the vector, so that it can have a CPU of its own
 * @irq: number of the interrupt; 0 while it is not requested
 * @irq_cpu: CPU that takes the interrupt, if @own_vector
 * @irq_is_elsewhere: an administrator has moved the interrupt to another CPU
 * @irq_choice: notifier of such a move
 * @taken: an open file has the queue; only for a private queue
 * @stuck: the queue's file is closed, but the controller has not deleted the queue
 * @priority: class in which the controller serves the queue, NVME_SQ_PRIO_*
 * @give_work: releases the queue
 */
struct chario_nvme_queue {
	struct chario_queue core;
	struct chario_nvme *ctrl;
	struct nvme_command *sqes;
	struct nvme_completion *cqes;
	const struct nvme_completion *cqes_end;
	struct nvme_completion *head;
	u32 __iomem *sq_doorbell;
	u32 __iomem *cq_doorbell;
	u16 entries;
	u32 page_mask;
	bool level;
	bool created;
	u64 reaped_at_irq;
	u16 tail;
	u16 rung;
	u16 unrung;
	u16 qid;
	unsigned int tag_mask;
	void *lists;
	u32 list_bytes;
	dma_addr_t list_dma;
	dma_addr_t sq_dma;
	dma_addr_t cq_dma;
	unsigned int vector;
	bool own_vector;
	unsigned int irq;
	unsigned int irq_cpu;
	bool irq_is_elsewhere;
	struct irq_affinity_notify irq_choice;
	bool taken;
	bool stuck;
	u16 priority;
	struct work_struct give_work;
};

static inline struct chario_nvme_queue *to_nvme_queue(struct chario_queue *q)
{
	return container_of(q, struct chario_nvme_queue, core);
}

static inline struct chario_nvme *to_nvme(const struct chario_drive *drive)
{
	return container_of(drive, struct chario_nvme, drive);
}

static inline struct chario_nvme_queue *
chario_nvme_queue_at(const struct chario_nvme *ctrl, unsigned int index)
{
	return to_nvme_queue(ctrl->drive.queues[index]);
}

/*
 * Returns the disk in a place, until put_device(); or NULL if the place is free.  Any context
 * but interrupts.
 */
static inline struct chario_disk *chario_nvme_disks_get(struct chario_nvme *ctrl,
							unsigned int index)
{
	struct chario_disk *disk;

	spin_lock(&ctrl->disks_lock);
	disk = ctrl->disks[index];
	if (disk)
		get_device(&disk->dev);
	spin_unlock(&ctrl->disks_lock);
	return disk;
}

/* Tells if a reset has cut off what has this result, and it is to be repeated. */
static inline bool chario_nvme_is_cut_off(const struct chario_nvme *ctrl, int ret)
{
	return ret == -EAGAIN || ret == -ECANCELED ||
	       (ret && READ_ONCE(ctrl->drive.state) == CHARIO_DRIVE_RECOVERING);
}

/* Returns to the start of both rings; the phase bit of the first round is 1. */
static inline void chario_nvme_queue_rewind(struct chario_nvme_queue *nq)
{
	nq->tail = 0;
	nq->rung = 0;
	nq->head = nq->cqes;
	nq->cqes_end = nq->cqes + nq->entries;
	nq->core.word_value = (__force u32)cpu_to_le32(CHARIO_NVME_PHASE);
	nq->unrung = 0;
}

/* nvme.c */
struct chario_nvme *chario_nvme_create(struct pci_dev *pdev);
void chario_nvme_get(struct chario_nvme *ctrl);
void chario_nvme_put(struct chario_nvme *ctrl);

/* identity.c */
int chario_nvme_identity_alloc(struct chario_nvme *ctrl, unsigned int count);
void chario_nvme_identity_free(struct chario_nvme *ctrl);
void chario_nvme_identity_note(struct chario_nvme *ctrl, unsigned int index,
			       const struct nvme_id_ns *id,
			       const struct chario_nvme_descriptors *descriptors);
void chario_nvme_identity_name(const struct chario_nvme *ctrl, u32 nsid,
			       const struct nvme_id_ns *id,
			       struct chario_disk *disk);
int chario_nvme_identity_look(struct chario_nvme *ctrl, unsigned int index, u32 nsid,
			      struct nvme_id_ns *id, bool *same);
int chario_nvme_identity_check(struct chario_nvme *ctrl, void *page);

/* disk.c */
const char *chario_nvme_disk_refusal(const struct chario_nvme *ctrl,
				     const struct nvme_id_ns *id);
struct chario_disk *chario_nvme_disk_create(struct chario_nvme *ctrl, u32 nsid,
					    const struct nvme_id_ns *id);

/* disks.c */
void chario_nvme_disks_init(struct chario_nvme *ctrl);
int chario_nvme_disks_create(struct chario_nvme *ctrl);
void chario_nvme_disks_leave(struct chario_nvme *ctrl);
void chario_nvme_disks_unregister(struct chario_nvme *ctrl);
void chario_nvme_disks_put(struct chario_nvme *ctrl);

/* ctrl.c */
int chario_nvme_ctrl_init(struct chario_nvme *ctrl);
int chario_nvme_ctrl_enable(struct chario_nvme *ctrl);
int chario_nvme_ctrl_disable(struct chario_nvme *ctrl);
int chario_nvme_ctrl_shutdown(struct chario_nvme *ctrl);
bool chario_nvme_ctrl_is_gone(struct chario_nvme *ctrl);
enum chario_drive_health chario_nvme_ctrl_health(struct chario_nvme *ctrl);
bool chario_nvme_ctrl_has_failed(struct chario_nvme *ctrl);
bool chario_nvme_ctrl_has_priorities(const struct chario_nvme *ctrl);
bool chario_nvme_ctrl_has_command_sets(const struct chario_nvme *ctrl);
u32 __iomem *chario_nvme_doorbell(struct chario_nvme *ctrl, unsigned int n);

/* cmb.c */
void chario_nvme_cmb_init(struct chario_nvme *ctrl);
void chario_nvme_cmb_enable(struct chario_nvme *ctrl);

/* identify.c */
int chario_nvme_identify_ctrl(struct chario_nvme *ctrl);
int chario_nvme_identify_again(struct chario_nvme *ctrl,
			       struct nvme_id_ctrl *id);
int chario_nvme_identify_list(struct chario_nvme *ctrl, void *page, u32 *nsids);
int chario_nvme_identify_ns(struct chario_nvme *ctrl, u32 nsid,
			    struct nvme_id_ns *id, u16 *status);
int chario_nvme_identify_descriptors(struct chario_nvme *ctrl, u32 nsid, void *page,
				     struct chario_nvme_descriptors *descriptors);

/* queues.c */
int chario_nvme_queues_init(struct chario_nvme *ctrl);
int chario_nvme_queues_make_block(struct chario_drive *drive);
int chario_nvme_queues_start(struct chario_nvme *ctrl);
int chario_nvme_queues_create(struct chario_nvme *ctrl);
void chario_nvme_queues_delete(struct chario_nvme *ctrl);
void chario_nvme_queues_forget(struct chario_nvme *ctrl);
void chario_nvme_queues_stop(struct chario_nvme *ctrl);
u32 chario_nvme_queues_max_bytes(const struct chario_nvme *ctrl);
unsigned int chario_nvme_queues_nr_private(void);

/* irq.c */
int chario_nvme_queue_request_irq(struct chario_nvme_queue *nq, int cpu);
void chario_nvme_queue_free_irq(struct chario_nvme_queue *nq);
void chario_nvme_irq_attach(struct chario_nvme *ctrl);
void chario_nvme_irq_detach(struct chario_nvme *ctrl);
int chario_nvme_irq_init(void);
void chario_nvme_irq_exit(void);

/* private.c */
struct chario_queue *
chario_nvme_private_take(struct chario_disk *disk,
			 struct chario_queue_create *args);
void chario_nvme_private_give(struct chario_disk *disk,
			      struct chario_queue *q);

/* queue.c */
extern const struct chario_queue_ops chario_nvme_queue_ops;
extern const struct chario_queue_ops chario_nvme_queue_ops_without_tables;
irqreturn_t chario_nvme_queue_irq(int irq, void *data);
void chario_nvme_queue_reset(struct chario_nvme_queue *nq);

/* prp.c */
void chario_nvme_prp_build(const struct chario_nvme_queue *nq,
			   const struct chario_command *cmd,
			   union nvme_data_ptr *dptr);
void chario_nvme_prp_fill_ranges(const struct chario_nvme_queue *nq,
				 const struct chario_command *cmd);
unsigned int chario_nvme_prp_max_ranges(const struct chario_nvme_queue *nq);

/* table.c */
struct chario_nvme_table;
bool chario_nvme_has_tables(void);
int chario_nvme_table_create(struct chario_buffer *buf);
void chario_nvme_table_destroy(struct chario_buffer *buf);

/* power.c */
void chario_nvme_power_init(struct chario_nvme *ctrl);
void chario_nvme_power_deinit(struct chario_nvme *ctrl);
int chario_nvme_power_pin(struct chario_disk *disk, u32 *held, u32 wanted);
int chario_nvme_power_get(struct chario_disk *disk, u32 held,
			  struct chario_pin *pin);
void chario_nvme_power_add(struct chario_nvme *ctrl, u32 nsid);
void chario_nvme_power_remove(struct chario_nvme *ctrl, u32 nsid);
void chario_nvme_power_restore(struct chario_nvme *ctrl);
void chario_nvme_power_detach(struct chario_nvme *ctrl);

/* aspm.c */
void chario_nvme_aspm_pin(struct chario_nvme *ctrl);
void chario_nvme_aspm_restore(struct chario_nvme *ctrl);

/* health.c */
void chario_nvme_health_init(struct chario_nvme *ctrl);
int chario_nvme_health_read(struct chario_disk *disk,
			    struct chario_health *health);
void chario_nvme_health_expire(struct chario_nvme *ctrl);
void chario_nvme_health_detach(struct chario_nvme *ctrl);

/* event.c */
void chario_nvme_event_init(struct chario_nvme *ctrl);
void chario_nvme_event_start(struct chario_nvme *ctrl);
void chario_nvme_event_restart(struct chario_nvme *ctrl);
int chario_nvme_event_rescan(struct chario_nvme *ctrl);
void chario_nvme_event_stop(struct chario_nvme *ctrl);

/* status.c */
int chario_nvme_status_errno(u16 status);
const char *chario_nvme_status_text(u16 status);

/* reset.c */
int chario_nvme_disable(struct chario_nvme *ctrl);
int chario_nvme_enable(struct chario_nvme *ctrl);
extern const struct chario_drive_ops chario_nvme_drive_ops;

/* link.c */
void chario_nvme_link_failed(struct chario_nvme *ctrl);
void chario_nvme_link_restore(struct pci_dev *pdev);
int chario_nvme_link_is_up(struct chario_nvme *ctrl);
void chario_nvme_link_check(struct work_struct *work);

/* report.c */
void chario_nvme_report_init(struct chario_nvme *ctrl);
void chario_nvme_report(struct chario_nvme *ctrl,
			const struct chario_command *cmd, u16 status);
void chario_nvme_report_stop(struct chario_nvme *ctrl);

#endif /* CHARIO_NVME_H */
