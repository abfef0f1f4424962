/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The back end `nvme`: a lean driver of NVMe controllers on PCI Express.
 *
 *   pci.c       probe and remove, vectors, the PCI core's callbacks
 *   nvme.c      the structure of a controller
 *   disk.c      a namespace becomes a disk
 *   ctrl.c      registers: enable, disable, shut down
 *   cmb.c       controller memory
 *   identify.c  what the controller and its namespaces are
 *   admin.c     the admin queue
 *   pairs.c     its commands about I/O queues
 *   queues.c    the I/O queues: make, create, take down
 *   queue.c     one of them at work: post, kick, reap
 *   irq.c       their interrupts, and the CPUs that take them
 *   private.c   those that open files ask for
 *   prp.c       segments become PRP entries
 *   table.c     the PRP entries of a buffer, made once
 *   power.c     power states, coalescing and retries while files ask for it
 *   health.c    the SMART / Health log page
 *   event.c     asynchronous events
 *   status.c    status codes become errnos
 *   report.c    error statuses in the log
 *   reset.c     the steps of the core's recovery
 *   link.c      a link that has failed
 *
 * Registers and command layouts come from <linux/nvme.h>; the sections named
 * in comments are those of the NVM Express Base Specification 2.0.
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
#include <linux/workqueue.h>

#include "core/device.h"
#include "core/drive.h"
#include "core/queue.h"

#include "admin.h"

/* The phase bit in the last word of a completion, see queue.c. */
#define CHARIO_NVME_PHASE	BIT(16)

/* Entries of an I/O queue at most. */
#define CHARIO_NVME_MAX_DEPTH	1024

/* Failed commands that are noted while the log is busy; a power of two. */
#define CHARIO_NVME_REPORTS	16

/**
 * struct chario_nvme_failure - a command that has failed
 * @offset: byte offset on the disk
 * @bytes: length
 * @disk: index of the disk
 * @status: status code type and code
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
 * @lock: protects all but @work
 * @head: next to write
 * @tail: next to note
 * @lost: there was no room for so many
 * @ring: indices run on and are taken modulo its length
 * @work: writes them
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
 * struct chario_nvme_power - what is pinned, see power.c
 * @lock: protects all but @work
 * @users: for each CHARIO_PIN_* bit, how many open files ask for it
 * @settings: of the drive; NULL until somebody asks
 * @nr_settings: how many
 * @transitions: the table of autonomous power state transitions, as it was
 * @link_before: link control of the drive and of the port above it, as it was
 * @link_status: errno of what could not be done about it
 * @link_off: its power management has been switched off
 * @qos: keeps CPUs out of their idle states
 * @detached: the drive is being let go: nothing is done any more
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
 * @lock: protects all but @warning_k, @critical_k and @events
 * @log: the log page as it was last read
 * @result: how reading it went; a number, or -errno
 * @read_at: jiffies of that
 * @read_ns: the same on CLOCK_MONOTONIC
 * @is_read: @result is worth to be remembered for a second
 * @has_log: @log has been read
 * @has_throttled: the drive has throttled in the last minute
 * @throttled_at: jiffies at which that was noticed
 * @detached: the drive is being let go
 * @warning_k: temperature from which it is too hot, kelvin; 0: not told
 * @critical_k: temperature from which it may stop, kelvin; 0: not told
 * @events: that the drive has told us of
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
 * struct chario_nvme_events - asynchronous events, see event.c
 * @on: they are waited for; changes under admin.lock
 * @arrived: a request has ended; under admin.lock
 * @refused: the drive does not take such requests, until the next reset
 * @configured: the drive knows which events we want
 * @tries: how often the log page of this event could not be read
 * @earliest: jiffies before which no other event is attended to; under
 *	admin.lock
 * @page: what the drive answers; of @work alone
 * @work: attends to them
 */
struct chario_nvme_events {
	bool on;
	bool arrived;
	bool refused;
	bool configured;
	unsigned int tries;
	unsigned long earliest;
	void *page;
	struct delayed_work work;
};

/**
 * struct chario_nvme - a controller
 * @drive: as the core knows it: its I/O queues, those with interrupt first, each
 *	with its index + 1 for an identifier; its state; its recovery
 * @ref: held by the PCI device and by each disk
 * @pdev: the PCI device; valid until remove has returned
 * @bar: registers; NULL after remove
 * @cap: Controller Capabilities
 * @cmb: controller memory, or NULL
 * @cmb_bus: its bus address
 * @page_shift: memory page of the controller (CC.MPS)
 * @doorbell_bytes: distance of two doorbells
 * @max_queues: pairs whose doorbells lie in the BAR
 * @ready_ms: longest wait for CSTS.RDY
 * @shutdown_ms: longest wait for a shutdown
 * @nr_vectors: interrupt vectors
 * @level: interrupts are those of a pin
 * @hotplug_node: where irq.c finds it
 * @admin: the admin queue
 * @nr_irq: how many of its queues have an interrupt
 * @depth: entries of an I/O queue
 * @max_command_bytes: what drive, DMA layer, and slots allow
 * @command_limit: &enum chario_command_limit, which of them allows least
 * @write_cache: has a volatile write cache
 * @awupf: blocks that a power cut does not tear, less one
 * @power_states: that it has
 * @autonomous: it can change between them by itself (APSTA)
 * @nn: largest namespace identifier
 * @serial: see &struct chario_info
 * @model: see &struct chario_info
 * @firmware: see &struct chario_info
 * @vid: PCI vendor, as the drive says it
 * @sn: serial number as the drive says it, padded, for comparing; @serial is for people
 * @mn: model number, likewise
 * @has_namespace_events: it tells when namespaces change
 * @identities: what each of @disks is known by
 * @identify_page: for what a reset asks the drive; under drive.lock
 * @disks: one for each namespace that can be driven
 * @nr_disks: how many
 * @link_work: chario_nvme_link_check()
 * @link_deadline: jiffies at which a link that has failed is given up
 * @reports: failed commands
 * @power: what is pinned
 * @health: its health
 * @events: its asynchronous events
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
	struct chario_nvme_identity *identities;
	void *identify_page;
	struct chario_device **disks;
	unsigned int nr_disks;
	struct delayed_work link_work;
	unsigned long link_deadline;
	struct chario_nvme_reports reports;
	struct chario_nvme_power power;
	struct chario_nvme_health health;
	struct chario_nvme_events events;
};

/**
 * struct chario_nvme_queue - an I/O queue pair
 * @core: as the core knows it
 * @ctrl: the controller
 * @sqes: submission ring
 * @cqes: completion ring
 * @cqes_end: behind its last entry
 * @sq_doorbell: tail doorbell
 * @cq_doorbell: head doorbell
 * @entries: of either ring
 * @page_mask: memory page of the controller - 1
 * @level: its interrupt is that of a pin
 * @created: the controller knows it: its doorbells may be rung
 * @reaped_at_irq: core.reaped when an interrupt last came
 * @tail: of @sqes
 * @rung: tail that the controller has been told
 * @head: where in @cqes the next completion comes
 * @unrung: completions taken that the controller has not been told of
 * @qid: identifier
 * @tag_mask: the bits of a command's identifier that are its tag
 * @lists: PRP lists, one for each command
 * @list_bytes: size of a list, a power of two, a controller page at most
 * @list_dma: address of @lists for the controller
 * @sq_dma: of @sqes
 * @cq_dma: of @cqes
 * @vector: interrupt vector, index
 * @own_vector: its interrupt can have a CPU of its own
 * @irq: number of its interrupt; 0: nobody listens
 * @irq_cpu: CPU that is to take it, where @own_vector
 * @irq_is_elsewhere: an administrator has sent it to another one
 * @irq_choice: tells of that
 * @taken: by an open file; for a queue that is reserved
 * @stuck: its file has gone, but the controller has not deleted it
 * @urgent: the controller is to serve it before others
 * @give_work: gives it back
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
	bool urgent;
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

/* To the start of both rings; the phase bit of the first round is 1. */
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
			       const struct nvme_id_ns *id);
void chario_nvme_identity_name(const struct chario_nvme *ctrl, u32 nsid,
			       const struct nvme_id_ns *id,
			       struct chario_device *cio);
int chario_nvme_identity_check(struct chario_nvme *ctrl, void *page);

/* disk.c */
int chario_nvme_disks_create(struct chario_nvme *ctrl);
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
u32 __iomem *chario_nvme_doorbell(struct chario_nvme *ctrl, unsigned int n);

/* cmb.c */
void chario_nvme_cmb_init(struct chario_nvme *ctrl);
void chario_nvme_cmb_enable(struct chario_nvme *ctrl);

/* identify.c */
int chario_nvme_identify_ctrl(struct chario_nvme *ctrl);
int chario_nvme_identify_again(struct chario_nvme *ctrl,
			       struct nvme_id_ctrl *id);
int chario_nvme_identify_list(struct chario_nvme *ctrl, u32 *nsids,
			      unsigned int max);
int chario_nvme_identify_ns(struct chario_nvme *ctrl, u32 nsid,
			    struct nvme_id_ns *id, u16 *status);

/* queues.c */
int chario_nvme_queues_init(struct chario_nvme *ctrl);
int chario_nvme_queues_start(struct chario_nvme *ctrl);
int chario_nvme_queues_create(struct chario_nvme *ctrl);
void chario_nvme_queues_delete(struct chario_nvme *ctrl);
void chario_nvme_queues_forget(struct chario_nvme *ctrl);
void chario_nvme_queues_stop(struct chario_nvme *ctrl);
u32 chario_nvme_queues_max_bytes(const struct chario_nvme *ctrl);
unsigned int chario_nvme_queues_nr_reserved(void);

/* irq.c */
int chario_nvme_queue_request_irq(struct chario_nvme_queue *nq, int cpu);
void chario_nvme_queue_free_irq(struct chario_nvme_queue *nq);
void chario_nvme_irq_attach(struct chario_nvme *ctrl);
void chario_nvme_irq_detach(struct chario_nvme *ctrl);
int chario_nvme_irq_init(void);
void chario_nvme_irq_exit(void);

/* private.c */
struct chario_queue *
chario_nvme_private_take(struct chario_device *cio,
			 struct chario_queue_create *args);
void chario_nvme_private_give(struct chario_device *cio,
			      struct chario_queue *q);

/* queue.c */
extern const struct chario_queue_ops chario_nvme_queue_ops;
irqreturn_t chario_nvme_queue_irq(int irq, void *data);
void chario_nvme_queue_reset(struct chario_nvme_queue *nq);

/* prp.c */
void chario_nvme_prp_build(const struct chario_nvme_queue *nq,
			   const struct chario_command *cmd,
			   union nvme_data_ptr *dptr);

/* table.c */
struct chario_nvme_table;
int chario_nvme_table_create(struct chario_buffer *buf);
void chario_nvme_table_destroy(struct chario_buffer *buf);

/* power.c */
void chario_nvme_power_init(struct chario_nvme *ctrl);
void chario_nvme_power_deinit(struct chario_nvme *ctrl);
int chario_nvme_power_pin(struct chario_device *cio, u32 *held, u32 wanted);
int chario_nvme_power_get(struct chario_device *cio, u32 held,
			  struct chario_pin *pin);
void chario_nvme_power_restore(struct chario_nvme *ctrl);
void chario_nvme_power_detach(struct chario_nvme *ctrl);

/* health.c */
void chario_nvme_health_init(struct chario_nvme *ctrl);
int chario_nvme_health_read(struct chario_device *cio,
			    struct chario_health *health);
void chario_nvme_health_expire(struct chario_nvme *ctrl);
void chario_nvme_health_detach(struct chario_nvme *ctrl);

/* event.c */
void chario_nvme_event_init(struct chario_nvme *ctrl);
void chario_nvme_event_start(struct chario_nvme *ctrl);
void chario_nvme_event_restart(struct chario_nvme *ctrl);
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
