// SPDX-License-Identifier: MIT
/*
 * Reading a timeline: rings merged by time, records joined to requests, tags,
 * and how values are spread.
 */
#include "fake-timeline.h"

#define MAX_SEEN 256

static const uint32_t none = CHARIO_TIMELINE_NO_REQUEST;

static struct chario_device *device;
static struct chario_timeline *timeline;
static struct chario_timeline_record seen[MAX_SEEN];
static struct chario_timeline_request requests[MAX_SEEN];
static int nr_seen;
static int end_at;

static int open_timeline(void)
{
	struct chario_timeline_open options = { .records = FAKE_RECORDS, .tags = FAKE_RECORDS };

	return chario_timeline_open(device, &options, sizeof(options), &timeline);
}

static int see(const struct chario_timeline_record *record, void *data)
{
	seen[nr_seen++] = *record;
	return nr_seen == end_at ? -EINTR : 0;
}

static int see_request(const struct chario_timeline_request *request, void *data)
{
	requests[nr_seen++] = *request;
	return nr_seen == end_at ? -EINTR : 0;
}

/* Returns the number of records, or of requests, that are seen, or a negative errno. */
static int look(void)
{
	nr_seen = 0;
	return chario_timeline_each(timeline, see, NULL) ?: nr_seen;
}

static int join(void)
{
	nr_seen = 0;
	return chario_timeline_each_request(timeline, see_request, NULL) ?: nr_seen;
}

static void put(uint32_t queue, uint8_t stage, uint32_t request, uint32_t command, uint64_t time_ns)
{
	fake_record(queue, (struct chario_timeline_record){
				   .time_ns = time_ns,
				   .stage = stage,
				   .task = 100,
				   .request = request,
				   .command = command,
				   .offset = command * 4096ull,
			   });
}

TEST(test_open, "open, control, and what is refused")
{
	struct chario_timeline_open options = { .records = FAKE_RECORDS };

	EQUAL(chario_timeline_fd(timeline) >= 0, 1);
	EQUAL(chario_timeline_header(timeline)->record_cost_ns, 42);
	EQUAL(chario_timeline_control(timeline, CHARIO_TIMELINE_FREEZE, 0), 0);
	EQUAL(chario_timeline_open(device, &options, 31, &timeline), -EINVAL);
	fake_file("", "/fake/recorded");
	EQUAL(chario_timeline_open(device, &options, sizeof(options), &timeline), -EBUSY);
}

static void check_is_refused(void)
{
	struct chario_timeline *other;
	struct chario_timeline_open options = { .records = FAKE_RECORDS };

	EQUAL(chario_timeline_open(device, &options, sizeof(options), &other), -EPROTO);
}

TEST(test_unknown_layout, "a layout that is not known is refused")
{
	struct chario_timeline_header *header = fake_timeline_header(), was = *header;

	header->record_bytes = 32;
	check_is_refused();
	*header = was;
	header->records = 63;
	check_is_refused();
	*header = was;
	header->rings_bytes = 4096;
	check_is_refused();
	*header = was;
	header->size = 64;
	check_is_refused();
	*header = was;
}

TEST(test_longer_records, "records of a later kernel are longer")
{
	fake_timeline_header()->record_bytes = 128;
	fake_timeline_header()->records = 16;
	put(0, CHARIO_STAGE_ENTER, none, none, 1);
	put(0, CHARIO_STAGE_IRQ, none, none, 2);
	put(0, CHARIO_STAGE_FINISH, none, none, 3);
	chario_timeline_close(timeline);
	EQUAL(open_timeline(), 0);
	EQUAL(look(), 3);
	EQUAL(seen[1].stage, CHARIO_STAGE_FINISH);
}

TEST(test_rings_are_merged, "rings are merged by time")
{
	put(0, CHARIO_STAGE_ENTER, none, none, 10);
	put(1, CHARIO_STAGE_SPLIT, 1, 1, 20);
	put(0, CHARIO_STAGE_ENTER, none, none, 30);
	put(1, CHARIO_STAGE_MAP, 1, 1, 30);
	put(1, CHARIO_STAGE_FINISH, 1, none, 40);
	EQUAL(look(), 5);
	for (int i = 1; i < nr_seen; i++)
		CHECK(seen[i].time_ns >= seen[i - 1].time_ns);
	EQUAL(seen[2].stage, CHARIO_STAGE_ENTER);
	EQUAL(seen[3].stage, CHARIO_STAGE_MAP);
	end_at = 2;
	EQUAL(look(), -EINTR);
	EQUAL(nr_seen, 2);
}

TEST(test_a_ring_keeps_its_order, "at one time a ring keeps its order")
{
	put(0, CHARIO_STAGE_FINISH, 1, none, 10);
	put(0, CHARIO_STAGE_ENTER, none, none, 10);
	put(1, CHARIO_STAGE_SPLIT, 1, 1, 10);
	EQUAL(look(), 3);
	CHECK(seen[0].stage == CHARIO_STAGE_SPLIT || seen[0].stage == CHARIO_STAGE_FINISH);
	for (int i = 0; i < 2; i++)
		if (seen[i].stage == CHARIO_STAGE_ENTER)
			EQUAL(seen[0].stage == CHARIO_STAGE_FINISH ||
				      seen[1].stage == CHARIO_STAGE_FINISH,
			      1);
}

TEST(test_overwritten, "what has been overwritten is counted")
{
	struct chario_timeline_totals totals;

	for (uint64_t i = 0; i < 100; i++)
		put(0, CHARIO_STAGE_IRQ, none, none, 1000 + i);
	EQUAL(chario_timeline_get_totals(timeline, &totals, sizeof(totals)), 0);
	EQUAL(totals.records, FAKE_RECORDS - 1);
	EQUAL(totals.lost, 100 - FAKE_RECORDS + 1);
	EQUAL(look(), FAKE_RECORDS - 1);
	EQUAL(seen[0].time_ns, 1000 + 100 - FAKE_RECORDS + 1);
	EQUAL(seen[nr_seen - 1].time_ns, 1099);
	EQUAL(chario_timeline_get_totals(timeline, &totals, 8), -EINVAL);
}

TEST(test_tags, "tags")
{
	struct chario_timeline_totals totals;

	for (uint64_t value = 0; value < FAKE_RECORDS + 6; value++)
		chario_timeline_tag(timeline, value);
	EQUAL(chario_timeline_get_totals(timeline, &totals, sizeof(totals)), 0);
	EQUAL(totals.tags, FAKE_RECORDS);
	EQUAL(totals.lost_tags, 6);
	EQUAL(look(), FAKE_RECORDS);
	for (int i = 0; i < nr_seen; i++)
		EQUAL(seen[i].result, i + 6);
	EQUAL(seen[0].stage, CHARIO_TIMELINE_TAG);
}

TEST(test_a_request, "records become requests")
{
	fake_request(0, 3, 1000, 8192);
	fake_request(1, 3, 2000, 4096);
	EQUAL(join(), 2);
	for (int stage = 0; stage < CHARIO_TIMELINE_STAGES; stage++)
		EQUAL(requests[0].last_ns[stage], 1000 + 10 * stage);
	EQUAL(requests[0].offset, 8192);
	EQUAL(requests[0].result, 4096);
	EQUAL(requests[0].commands, 1);
	EQUAL(requests[0].task, 100);
	EQUAL(requests[0].polled, 0);
	EQUAL(requests[1].polled, 1);
	EQUAL(requests[1].first_ns[CHARIO_STAGE_ENTER], 2000);
	EQUAL(requests[1].first_ns[CHARIO_STAGE_IRQ], 0);
	EQUAL(requests[1].first_ns[CHARIO_STAGE_DOORBELL], 2050);
}

TEST(test_commands_of_a_request, "a request of several commands")
{
	put(0, CHARIO_STAGE_ENTER, none, none, 1);
	for (uint32_t command = 5; command < 8; command++)
		for (uint8_t stage = CHARIO_STAGE_SPLIT; stage <= CHARIO_STAGE_POST; stage++)
			put(0, stage, 5, command, 10 * command + stage);
	put(0, CHARIO_STAGE_DOORBELL, none, none, 100);
	put(0, CHARIO_STAGE_IRQ, none, none, 110);
	for (uint32_t command = 5; command < 8; command++)
		put(0, CHARIO_STAGE_REAP, 5, command, 110 + command);
	put(0, CHARIO_STAGE_FINISH, 5, none, 200);
	EQUAL(join(), 1);
	EQUAL(requests[0].commands, 3);
	EQUAL(requests[0].first_ns[CHARIO_STAGE_SPLIT], 51);
	EQUAL(requests[0].last_ns[CHARIO_STAGE_SPLIT], 71);
	EQUAL(requests[0].first_ns[CHARIO_STAGE_DOORBELL], 100);
	EQUAL(requests[0].last_ns[CHARIO_STAGE_IRQ], 110);
	EQUAL(requests[0].last_ns[CHARIO_STAGE_REAP], 117);
}

/* Without its first split a request is not taken for another. */
TEST(test_lost_beginnings, "requests whose beginning is lost are left out")
{
	put(0, CHARIO_STAGE_MAP, 2, 2, 10);
	put(0, CHARIO_STAGE_POST, 2, 2, 11);
	put(0, CHARIO_STAGE_FINISH, 2, none, 12);
	put(0, CHARIO_STAGE_SPLIT, 2, 2, 20);
	put(0, CHARIO_STAGE_FINISH, 2, none, 30);
	put(0, CHARIO_STAGE_SPLIT, 4, 4, 40);
	EQUAL(join(), 1);
	EQUAL(requests[0].first_ns[CHARIO_STAGE_ENTER], 0);
	EQUAL(requests[0].last_ns[CHARIO_STAGE_FINISH], 30);
	EQUAL(requests[0].last_ns[CHARIO_STAGE_MAP], 0);
}

/* An interrupt that came for another request is not this one's. */
TEST(test_an_older_irq, "an interrupt before the post is of another request")
{
	put(0, CHARIO_STAGE_SPLIT, 1, 1, 10);
	put(0, CHARIO_STAGE_IRQ, none, none, 11);
	put(0, CHARIO_STAGE_POST, 1, 1, 12);
	put(0, CHARIO_STAGE_REAP, 1, 1, 13);
	put(0, CHARIO_STAGE_FINISH, 1, none, 14);
	EQUAL(join(), 1);
	EQUAL(requests[0].first_ns[CHARIO_STAGE_IRQ], 0);
}

TEST(test_doorbell_of_many, "one doorbell for several requests")
{
	put(0, CHARIO_STAGE_SPLIT, 1, 1, 10);
	put(0, CHARIO_STAGE_POST, 1, 1, 11);
	put(0, CHARIO_STAGE_SPLIT, 2, 2, 12);
	put(0, CHARIO_STAGE_POST, 2, 2, 13);
	put(0, CHARIO_STAGE_DOORBELL, none, none, 14);
	put(0, CHARIO_STAGE_DOORBELL, none, none, 15);
	put(0, CHARIO_STAGE_FINISH, 2, none, 16);
	put(0, CHARIO_STAGE_FINISH, 1, none, 17);
	EQUAL(join(), 2);
	EQUAL(requests[0].request, 2);
	EQUAL(requests[0].last_ns[CHARIO_STAGE_DOORBELL], 14);
	EQUAL(requests[1].last_ns[CHARIO_STAGE_DOORBELL], 14);
}

TEST(test_quantiles, "quantiles are the value of the nearest rank")
{
	struct chario_timeline_quantiles q;
	uint64_t values[2000];

	for (uint64_t i = 0; i < 2000; i++)
		values[i] = 2000 - i;
	EQUAL(chario_timeline_measure(values, 2000, &q, sizeof(q)), 0);
	EQUAL(q.count, 2000);
	EQUAL(q.min, 1);
	EQUAL(q.median, 1000);
	EQUAL(q.p99, 1980);
	EQUAL(q.p999, 1998);
	EQUAL(q.max, 2000);
	EQUAL(q.mean, 1001);
	EQUAL(chario_timeline_measure(values, 1, &q, sizeof(q)), 0);
	EQUAL(q.median, 1);
	EQUAL(q.p999, 1);
	EQUAL(chario_timeline_measure(values, 0, &q, sizeof(q)), 0);
	EQUAL(q.max, 0);
	EQUAL(chario_timeline_measure(values, 1, &q, 8), -EINVAL);
}

TEST(test_names, "names of stages")
{
	SAME_TEXT(chario_timeline_stage_name(CHARIO_STAGE_ENTER), "enter");
	SAME_TEXT(chario_timeline_stage_name(CHARIO_STAGE_FINISH), "finish");
	SAME_TEXT(chario_timeline_stage_name(CHARIO_TIMELINE_TAG), "tag");
	CHECK(!chario_timeline_stage_name(CHARIO_TIMELINE_STAGES));
}

static struct chario_timeline *joined;

static int join_descriptor(int fd)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", fd);
	setenv(CHARIO_TIMELINE_FD, text, 1);
	return chario_timeline_join(&joined);
}

TEST(test_join_the_parent, "a program joins the timeline of its parent")
{
	int null = open("/dev/null", O_RDWR), empty = memfd_create("empty", 0);

	unsetenv(CHARIO_TIMELINE_FD);
	EQUAL(chario_timeline_join(&joined), -ENOENT);
	setenv(CHARIO_TIMELINE_FD, "x", 1);
	EQUAL(chario_timeline_join(&joined), -EBADF);
	EQUAL(join_descriptor(987), -EBADF);
	EQUAL(join_descriptor(null), -EPROTO);
	EQUAL(join_descriptor(empty), -EPROTO);
	EQUAL(join_descriptor(chario_timeline_fd(timeline)), 0);
	close(null);
	close(empty);
	chario_timeline_tag(joined, 5);
	chario_timeline_close(joined);
	CHECK(look() >= 0);
	EQUAL(seen[0].result, 5);
}

static void begin(void)
{
	end_at = 0;
	fake_begin();
	fake_file("", "/dev/chardisk0");
	fake_file("nvme\n", "/sys/class/chario/chardisk0/backend");
	fake_timeline_begin();
	if (chario_device_open("/dev/chardisk0", O_RDONLY, &device) || open_timeline())
		abort();
}

static void end(void)
{
	chario_timeline_close(timeline);
	chario_device_close(device);
	fake_timeline_end();
	fake_end();
}

TEST_MAIN(begin, end)
