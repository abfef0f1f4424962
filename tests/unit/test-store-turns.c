// SPDX-License-Identifier: MIT
/*
 * The lock of the table: everyone has a turn.
 */
#include <pthread.h>

#include "device/ops.h"
#include "store-file.h"
#include "tap.h"

static int get_info(const struct chario_device *device, struct chario_info *info, size_t size)
{
	memset(info, 0, size);
	return 0;
}

static const struct chario_device_ops ops = { .get_info = get_info };

/**
 * struct waiter - who waits for the table
 * @fd: holds its locks
 * @exclusive: what it wants
 * @had: it has had it
 * @err: what came of it
 */
struct waiter {
	int fd;
	bool exclusive;
	bool had;
	int err;
};

/* Its transfers and its other locks use the same open file. */
static int take_table(int fd, bool exclusive)
{
	struct chario_device *device = chario_device_make(&ops, NULL, path);
	int err;

	device->fd = fd;
	err = chario_fence_take_table(device, fd, exclusive);
	device->fd = -1;
	chario_device_close(device);
	return err;
}

static void *wait_once(void *data)
{
	struct waiter *waiter = data;

	waiter->err = take_table(waiter->fd, waiter->exclusive);
	__atomic_store_n(&waiter->had, true, __ATOMIC_SEQ_CST);
	if (!waiter->err)
		chario_lock_drop(waiter->fd, STORE_LOCK_TABLE);
	return NULL;
}

static void check_turn(bool exclusive)
{
	struct waiter waiter = { .fd = open(path, O_RDWR), .exclusive = exclusive };
	int fd = open(path, O_RDWR), looker = open(path, O_RDWR);
	pthread_t thread;

	EQUAL(take_table(fd, true), 0);
	CHECK(is_free(looker, STORE_LOCK_QUEUE));
	EQUAL(pthread_create(&thread, NULL, wait_once, &waiter), 0);
	while (is_free(looker, STORE_LOCK_QUEUE))
		usleep(100);
	/* It waits; who drops the lock and wants it at once comes after it. */
	chario_lock_drop(fd, STORE_LOCK_TABLE);
	EQUAL(take_table(fd, true), 0);
	CHECK(__atomic_load_n(&waiter.had, __ATOMIC_SEQ_CST));
	pthread_join(thread, NULL);
	EQUAL(waiter.err, 0);
	CHECK(!is_free(looker, STORE_LOCK_TABLE));
	chario_lock_drop(fd, STORE_LOCK_TABLE);
	CHECK(is_free(looker, STORE_LOCK_TABLE));
	CHECK(is_free(looker, STORE_LOCK_QUEUE));
	close(waiter.fd);
	close(fd);
	close(looker);
}

TEST(who_waits_is_next, "who waits for the table is the next to have it")
{
	check_turn(true);
	check_turn(false);
}

/* One that was stopped between the two locks. */
TEST(nobody_waits_for_a_turn_for_ever, "nobody waits for its turn for ever")
{
	int fd = open(path, O_RDWR), stopped = open(path, O_RDWR);

	EQUAL(chario_lock_try(stopped, STORE_LOCK_QUEUE, true), 0);
	EQUAL(take_table(fd, true), 0);
	EQUAL(chario_lock_try(stopped, STORE_LOCK_TABLE, true), -EBUSY);
	chario_lock_drop(fd, STORE_LOCK_TABLE);
	close(stopped);
	CHECK(is_free(fd, STORE_LOCK_QUEUE));
	close(fd);
}

TEST_MAIN_WITH(make_file(0), drop_file())
