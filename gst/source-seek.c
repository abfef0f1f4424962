// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Places in a recording.
 *
 * Reading cannot begin at a buffer that depends on others, or whose caps have not been
 * read, so the records before it are searched backwards for a suitable one. chariosink
 * repeats caps and segment once in each segment of the recording, so that the search is
 * short.
 */
#include <errno.h>
#include <string.h>

#include "source.h"

/* Number of records after which a search is given up: chariosink has not made the recording. */
#define STEPS_MAX 100000

/**
 * struct place - a record that has been read
 * @sequence: number of the record
 * @time_ns: time of the record, nanoseconds since 1970
 * @header: header of the record
 */
struct place {
	guint64 sequence;
	guint64 time_ns;
	struct chario_gst_header header;
};

/* The place behind the newest record, where records were lost, has no header. */
static int look(ChariOSrc *source, guint64 sequence, struct place *place)
{
	struct chario_record record;
	int err = chario_reader_seek(source->reader, sequence);

	memset(place, 0, sizeof(*place));
	place->sequence = sequence;
	if (!err)
		err = chario_reader_next(source->reader, 0, &record);
	if (err)
		return err == -ENODATA || err == -EAGAIN ? 0 : err;
	place->sequence = record.sequence;
	place->time_ns = record.time_ns;
	if (!chario_gst_header_read(&place->header, record.memory, record.bytes))
		return -EBADMSG;
	chario_src_describe(source, &place->header, &record);
	return 0;
}

static gboolean is_key(const struct place *place)
{
	return place->header.kind == CHARIO_GST_BUFFER &&
	       !(place->header.flags & GST_BUFFER_FLAG_DELTA_UNIT);
}

static gboolean has_time(const struct place *place)
{
	return place->header.kind == CHARIO_GST_BUFFER &&
	       GST_CLOCK_TIME_IS_VALID(place->header.running);
}

static gboolean is_known(ChariOSrc *source, guint32 epoch)
{
	return source->epoch == epoch && source->has_caps && source->has_segment;
}

/* Search backwards from a record for the caps and the segment of an epoch. */
static int find_description(ChariOSrc *source, guint64 from, guint64 first, guint32 epoch)
{
	struct place place;

	for (guint steps = 0; from > first && steps < STEPS_MAX; steps++) {
		int err = look(source, --from, &place);

		if (err)
			return err;
		if (place.header.epoch != epoch || is_known(source, epoch))
			return 0;
	}
	return 0;
}

/* Search backwards from a record for a buffer that can be decoded alone. */
static int find_key(ChariOSrc *source, guint64 from, guint64 first, struct place *place)
{
	for (guint steps = 0; steps < STEPS_MAX; steps++) {
		int err = look(source, from, place);

		if (err || is_key(place) || from <= first)
			return err;
		from = MIN(from, place->sequence) - 1;
	}
	return 0;
}

static int sequence_of_time(ChariOSrc *source, guint64 time_ns,
			    const struct chario_recording *recording, guint64 *sequence)
{
	struct chario_record record;
	int err = chario_reader_seek_time(source->reader, time_ns);

	if (!err)
		err = chario_reader_next(source->reader, 0, &record);
	if (err == -EAGAIN || err == -ENODATA) {
		*sequence = recording->next_record - 1;
		return 0;
	}
	if (err)
		return err;
	/* The record is the first of @time_ns or later; if it is later, take the one before. */
	*sequence = record.sequence;
	if (record.time_ns > time_ns && record.sequence > recording->first_record)
		*sequence = record.sequence - 1;
	return 0;
}

/* Caps and segment have the time of the buffer behind them, so go forward to the buffer. */
static int skip_descriptions(ChariOSrc *source, guint64 *sequence)
{
	struct place place;

	for (guint steps = 0; steps < STEPS_MAX; steps++) {
		int err = look(source, *sequence, &place);

		if (err || !place.header.kind || place.header.kind == CHARIO_GST_BUFFER)
			return err;
		*sequence = place.sequence + 1;
	}
	return 0;
}

int chario_src_go(ChariOSrc *source, guint64 time_ns)
{
	struct chario_recording recording;
	struct place place;
	guint64 sequence;
	int err = chario_reader_get_recording(source->reader, &recording, sizeof(recording));

	if (err || recording.next_record <= recording.first_record)
		return err;
	err = sequence_of_time(source, time_ns, &recording, &sequence);
	if (!err)
		err = skip_descriptions(source, &sequence);
	if (!err)
		err = find_key(source, sequence, recording.first_record, &place);
	if (err)
		return err;
	source->has_caps = source->has_segment = FALSE;
	err = find_description(source, place.sequence, recording.first_record, place.header.epoch);
	source->skip = time_ns > source->first_ns ? time_ns - source->first_ns : 0;
	source->is_begun = FALSE;
	source->is_new = source->is_segment_new = TRUE;
	return err ? err : chario_reader_seek(source->reader, place.sequence);
}

/*
 * Find the first buffer with a time, which gives the beginning of running time.  Bytes have
 * none.
 */
static int find_first(ChariOSrc *source, const struct chario_recording *recording)
{
	struct place place = { .sequence = recording->first_record };

	source->first_ns = recording->first_time_ns;
	source->format = GST_FORMAT_TIME;
	for (guint steps = 0; steps < STEPS_MAX; steps++) {
		int err = look(source, place.sequence, &place);

		if (source->has_segment)
			source->format = source->segment.format;
		if (err || place.header.kind == 0 || source->format != GST_FORMAT_TIME)
			return err;
		if (has_time(&place)) {
			source->first_ns = place.time_ns - place.header.running;
			return 0;
		}
		place.sequence++;
	}
	return 0;
}

/* Find the last buffer with a time, at which the recording ends. */
static int find_length(ChariOSrc *source, const struct chario_recording *recording)
{
	guint64 sequence = recording->next_record;
	struct place place;

	source->length = GST_CLOCK_TIME_NONE;
	for (guint steps = 0; sequence > recording->first_record && steps < STEPS_MAX; steps++) {
		int err = look(source, --sequence, &place);

		if (err)
			return err;
		if (!has_time(&place))
			continue;
		source->length = place.time_ns - source->first_ns;
		if (GST_CLOCK_TIME_IS_VALID(place.header.duration))
			source->length += place.header.duration;
		return 0;
	}
	return 0;
}

int chario_src_survey(ChariOSrc *source)
{
	struct chario_recording recording;
	int err = chario_reader_get_recording(source->reader, &recording, sizeof(recording));

	source->has_caps = source->has_segment = FALSE;
	if (!err)
		err = find_first(source, &recording);
	if (!err && recording.ended && source->format == GST_FORMAT_TIME)
		err = find_length(source, &recording);
	source->has_caps = source->has_segment = FALSE;
	return err ? err : chario_reader_seek(source->reader, recording.first_record);
}
