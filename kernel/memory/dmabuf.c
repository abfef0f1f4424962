// SPDX-License-Identifier: GPL-2.0-only
/*
 * dma-bufs: memory of another driver, imported; and memory of this one, exported.
 *
 * Imported memory is pinned and stays mapped as long as its buffer and the drive are
 * there.  An exporter that goes itself, such as another drive's controller memory,
 * calls move_notify(), and the buffer loses its memory: transfers in flight end first.
 *
 * An import counts as locked, with all of its dma-buf: it keeps the whole dma-buf, and
 * the exporter describes the whole of it once more for each import.
 *
 * User space and the exporter agree when the CPU may touch the memory
 * (DMA_BUF_IOCTL_SYNC).
 */
#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "memory/buffer.h"
#include "memory/locked.h"

chario_compat_import_ns(DMA_BUF);

/**
 * struct import - the dma-buf behind a buffer
 * @dmabuf: the memory; a reference
 * @attach: attachment of the drive; valid while the buffer is mapped
 */
struct import {
	struct dma_buf *dmabuf;
	struct dma_buf_attachment *attach;
};

static int dmabuf_acquire(struct chario_buffer *buf,
			  const struct chario_buffer_create *args)
{
	struct import *import;
	struct dma_buf *dmabuf;
	int ret;

	if (args->address)
		return -EINVAL;
	import = kzalloc(sizeof(*import), GFP_KERNEL_ACCOUNT);
	if (!import)
		return -ENOMEM;
	dmabuf = dma_buf_get(args->fd);
	if (IS_ERR(dmabuf)) {
		ret = PTR_ERR(dmabuf);
		goto err_free;
	}
	ret = -EINVAL;
	if (args->bytes > dmabuf->size)
		goto err_put;
	ret = chario_locked_charge(&buf->locked, PFN_UP(dmabuf->size));
	if (ret)
		goto err_put;
	import->dmabuf = dmabuf;
	buf->own = import;
	return 0;

err_put:
	dma_buf_put(dmabuf);
err_free:
	kfree(import);
	return ret;
}

static void dmabuf_release(struct chario_buffer *buf)
{
	struct import *import = buf->own;

	dma_buf_put(import->dmabuf);
	chario_locked_uncharge(&buf->locked);
	kfree(import);
}

/* Give the memory up: its exporter wants it back. */
static void move_notify(struct dma_buf_attachment *attach)
{
	chario_buffer_revoke(attach->importer_priv);
}

static const struct dma_buf_attach_ops attach_ops = {
	.allow_peer2peer	= true,
	.move_notify		= move_notify,
};

/* Pin and map an attachment.  Under the lock of its reservations. */
static int map_attached(struct chario_buffer *buf,
			struct dma_buf_attachment *attach)
{
	int ret = dma_buf_pin(attach);

	if (ret)
		return ret;
	/* Wait for the exporter to finish moving the memory. */
	ret = dma_resv_wait_timeout(attach->dmabuf->resv,
				    DMA_RESV_USAGE_KERNEL, false,
				    MAX_SCHEDULE_TIMEOUT) < 0 ? -EIO : 0;
	if (ret)
		goto err_unpin; /* GCOVR_EXCL_LINE: exporters here do not move memory */
	buf->dma = dma_buf_map_attachment(attach,
					  chario_buffer_direction(buf));
	if (!IS_ERR(buf->dma))
		return 0;
	/* GCOVR_EXCL_START: exporters here do not move memory */
	ret = PTR_ERR(buf->dma);

err_unpin:
	dma_buf_unpin(attach);
	return ret;
	/* GCOVR_EXCL_STOP */
}

static int dmabuf_map(struct chario_buffer *buf, struct device *dev)
{
	struct import *import = buf->own;
	struct dma_buf_attachment *attach;
	int ret;

	attach = dma_buf_dynamic_attach(import->dmabuf, dev, &attach_ops, buf);
	if (IS_ERR(attach)) {
		ret = PTR_ERR(attach);
		/* dma_buf_dynamic_attach() also maps, if the memory never moves. */
		return ret == -ENOMEM || ret == -EIO ? ret : -EOPNOTSUPP;
	}
	dma_resv_lock(import->dmabuf->resv, NULL);
	ret = map_attached(buf, attach);
	dma_resv_unlock(import->dmabuf->resv);
	if (ret) {
		/* GCOVR_EXCL_START: exporters here do not move memory */
		dma_buf_detach(import->dmabuf, attach);
		return ret == -ENOMEM ? ret : -EIO;
		/* GCOVR_EXCL_STOP */
	}
	import->attach = attach;
	return 0;
}

static void dmabuf_unmap(struct chario_buffer *buf, struct device *dev)
{
	struct import *import = buf->own;

	dma_resv_lock(import->dmabuf->resv, NULL);
	dma_buf_unmap_attachment(import->attach, buf->dma,
				 chario_buffer_direction(buf));
	dma_buf_unpin(import->attach);
	dma_resv_unlock(import->dmabuf->resv);
	dma_buf_detach(import->dmabuf, import->attach);
}

const struct chario_buffer_ops chario_dmabuf_ops = {
	.acquire	= dmabuf_acquire,
	.release	= dmabuf_release,
	.map		= dmabuf_map,
	.unmap		= dmabuf_unmap,
};

/**
 * chario_dmabuf_export() - hand a buffer to other drivers
 * @buffers: buffers of the open file
 * @args: the handle of the buffer; the file descriptor is filled in
 *
 * Return: 0 or -errno, see &struct chario_buffer_export.
 */
int chario_dmabuf_export(struct chario_buffers *buffers,
			 struct chario_buffer_export *args)
{
	struct dma_buf *dmabuf = ERR_PTR(-EOPNOTSUPP);
	struct chario_buffer *buf;

	if (args->flags || args->fd)
		return -EINVAL;
	buf = chario_handles_borrow(buffers, args->id);
	if (!buf)
		return -ENOENT;
	if (buf->ops->export)
		dmabuf = buf->ops->export(buf);
	atomic_fetch_dec_release(&buf->users);
	if (IS_ERR(dmabuf))
		return PTR_ERR(dmabuf);
	args->fd = dma_buf_fd(dmabuf, O_CLOEXEC);
	if (args->fd >= 0)
		return 0;
	dma_buf_put(dmabuf);
	return args->fd;
}
