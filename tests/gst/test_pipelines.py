# SPDX-License-Identifier: MIT
"""What a pipeline records comes back; what goes wrong says what to do."""

import re
import signal
import subprocess
from pathlib import Path

import pytest
from gst_lab import BUILD, FRAME_BYTES, MIB, PLUGIN, RAW, Lab

SIZE = f"size={32 * MIB}"
SIZE_OF_FRAGMENT = f"size={4 * MIB}"


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """An empty store of 64 MiB."""
    assert PLUGIN.exists(), f"{PLUGIN} is missing: install the packages below 'GStreamer' of scripts/packages.txt"
    image = tmp_path / "image"
    with image.open("wb") as file:
        file.truncate(64 * MIB)
    subprocess.run([BUILD / "tests/gst/make-store", image], check=True)
    return Lab(tmp_path, image)


def test_the_elements_say_what_they_are(lab: Lab) -> None:
    """gst-inspect-1.0 prints both without a complaint."""
    for name, word in (("chariosink", "durable-bytes"), ("chariosrc", "from-time"), ("chario", "chariosrc")):
        command = ["gst-inspect-1.0", name]
        done = subprocess.run(command, env=lab.environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert not re.search("WARNING|CRITICAL", done.stdout + done.stderr)
        assert word in done.stdout


def test_raw_pictures_come_back_frame_by_frame(lab: Lab) -> None:
    """The same bytes, caps, times and number."""
    identity = "identity silent=false"
    lab.must(f"{lab.frames(90)} ! {lab.sink('a', SIZE)}")
    assert lab.into_file(lab.source("a"), "back.raw") == lab.reference(90)
    facts = r"\((\d+) bytes, dts: (\S+), pts: (\S+), duration: (\S+), offset: (\d+)"
    there = lab.must(f"{lab.frames(90)} ! {identity} ! fakesink", "-v")
    back = lab.must(f"{lab.source('a')} ! {identity} ! fakesink", "-v")
    assert len(re.findall(facts, back)) == 90
    assert re.findall(facts, back) == re.findall(facts, there)
    assert "format=(string)I420" in back


def test_h264_comes_back_to_a_playable_file(lab: Lab) -> None:
    """Caps with codec data, key frames, times before the first: the file has the same pictures."""
    encoded = f"{lab.frames(60)} ! x264enc key-int-max=10 ! video/x-h264,stream-format=avc,alignment=au"
    lab.must(f"{encoded} ! {lab.sink('a', SIZE)}")
    lab.must(f"{lab.source('a')} ! matroskamux ! filesink location={lab.folder}/back.mkv")
    lab.must(f"{encoded} ! matroskamux ! filesink location={lab.folder}/there.mkv")
    pictures = [
        lab.into_file(f"filesrc location={lab.folder}/{name}.mkv ! matroskademux ! video/x-h264", f"{name}.h264")
        for name in ("there", "back")
    ]
    assert pictures[0] and pictures[0] == pictures[1]


def test_a_file_comes_back_byte_by_byte(lab: Lab) -> None:
    """A muxed stream is bytes with headers; buffers longer than a segment are divided."""
    settings = f"{SIZE} segment-bytes=16384"
    muxed = f"{lab.frames(60)} ! x264enc ! matroskamux streamable=true ! tee name=m"
    lab.must(f"{muxed} ! queue ! filesink location={lab.folder}/there.mkv m. ! queue ! {lab.sink('a', settings)}")
    assert lab.into_file(lab.source("a"), "back.mkv") == (lab.folder / "there.mkv").read_bytes()


def test_a_file_without_caps_comes_back(lab: Lab) -> None:
    """Of many segments of the recording, each of which says again what the bytes are."""
    path = lab.folder / "there"
    path.write_bytes(bytes(range(256)) * 16384)
    settings = f"{SIZE} segment-bytes=131072"
    lab.must(f"filesrc location={path} blocksize=65000 ! {lab.sink('a', settings)}")
    assert lab.into_file(lab.source("a"), "back") == path.read_bytes()
    lab.must(f"filesrc location={path} blocksize=65000 ! {lab.sink('a', 'append=true')}")
    assert lab.into_file(lab.source("a"), "more") == path.read_bytes() * 2


def test_h264_as_a_stream_of_bytes_comes_back(lab: Lab) -> None:
    """As x264enc makes it where nobody asks for more; the file is that stream."""
    encoded = f"{lab.frames(60)} ! x264enc key-int-max=10 ! video/x-h264,stream-format=byte-stream"
    lab.must(f"{encoded} ! {lab.sink('a', SIZE)}")
    assert lab.into_file(lab.source("a"), "back.h264") == lab.into_file(encoded, "there.h264")
    assert "stream-format=(string)byte-stream" in lab.must(f"{lab.source('a')} ! fakesink", "-v")


def test_a_muxer_that_goes_back_is_followed(lab: Lab) -> None:
    """wavenc writes its header again when it knows the length: in the file that comes back too."""
    muxed = "audiotestsrc num-buffers=50 ! wavenc"
    lab.must(f"{muxed} ! {lab.sink('a', SIZE)}")
    assert lab.into_file(lab.source("a"), "back.wav") == lab.into_file(muxed, "there.wav")


def test_nothing_of_gstreamer_leaks(lab: Lab) -> None:
    """Its tracer lists what is alive at the end; a ring, a full area and a player leave nothing."""
    tracing = {"GST_TRACERS": "leaks", "GST_DEBUG": "GST_TRACER:7"}
    for pipeline in (
        f"{lab.frames(100)} ! {lab.sink('a', f'size={2 * MIB} segment-bytes=131072 ring=true')}",
        f"{lab.source('a')} ! fakesink",
        f"{lab.frames(100)} ! {lab.sink('a', 'segment-bytes=131072 force=true')}",
    ):
        output = lab.run(pipeline, **tracing).stdout
        assert "object-alive.class" in output, "the tracer is not there"
        assert not re.findall(r"object-alive, type-name=\(string\)\w.*", output)


def test_a_full_area_is_an_error_that_says_so(lab: Lab) -> None:
    """What was recorded before is there."""
    result = lab.run(f"{lab.frames(200)} ! {lab.sink('a', f'size={2 * MIB} segment-bytes=131072')}")
    assert result.returncode != 0
    assert "The area is full. Take a new area, with a larger size, or set ring=true" in result.stdout
    back = lab.into_file(lab.source("a"), "back.raw")
    assert 40 * FRAME_BYTES < len(back) <= 2 * MIB
    assert lab.reference(200).startswith(back)


def test_a_ring_keeps_the_newest(lab: Lab) -> None:
    """The end is complete, and begins where something says what it is."""
    lab.must(f"{lab.frames(300)} ! {lab.sink('a', f'size={2 * MIB} segment-bytes=131072 ring=true')}")
    back = lab.into_file(lab.source("a"), "back.raw")
    assert len(back) % FRAME_BYTES == 0
    assert 40 * FRAME_BYTES < len(back) < 2 * MIB
    assert lab.reference(300).endswith(back)


def test_a_recording_goes_on(lab: Lab) -> None:
    """The second part comes after the first, in time too."""
    lab.must(f"{lab.frames(30)} ! {lab.sink('a', SIZE)}")
    lab.must(f"{lab.frames(30)} ! {lab.sink('a', 'append=true')}")
    part = lab.reference(30)
    assert lab.into_file(lab.source("a"), "back.raw") == part + part
    times = lab.must(f"{lab.source('a')} ! identity silent=false ! fakesink sync=true", "-v")
    assert len(re.findall(r"chain .*\(\d+ bytes", times)) == 60


@pytest.mark.parametrize(("first", "settings", "words", "count"), [
    (SIZE, "", "holds a recording already. append=true goes on with it, force=true begins", 30),
    (SIZE, f"{SIZE} ring=true", "holds a recording already", 30),
    (SIZE, "force=true", None, 20),
    (f"{SIZE} append=true", "append=true", None, 50),
    ("append=true", "append=true", "There is no such area", None),
])  # fmt: skip
def test_recording_is_kept_unless_told(
    lab: Lab, first: str, settings: str, words: str | None, count: int | None
) -> None:
    """The second of two pipelines is refused, goes on, or begins a new recording."""
    lab.run(f"{lab.frames(30)} ! {lab.sink('a', first)}")
    result = lab.run(f"{lab.frames(20)} ! {lab.sink('a', settings)}")
    assert (result.returncode == 0) == (words is None), result.stdout
    assert words is None or words in result.stdout
    if count is not None:
        assert lab.count(lab.source("a")) == count


FRAGMENTS = ("p-00", "p-01", "p-02")


@pytest.mark.parametrize(("splitter", "sink", "words", "areas"), [
    ("", f"{SIZE_OF_FRAGMENT} area=p append=true", None, ("p",)),
    ("location=p-%02d", SIZE_OF_FRAGMENT, None, FRAGMENTS),
    ("location=p-%02d", f"{SIZE_OF_FRAGMENT} area=p", None, FRAGMENTS),
    ("location=p-%02d async-finalize=true", None, None, FRAGMENTS),
    ("", f"{SIZE_OF_FRAGMENT} area=p", 'holds a recording already.*location="part-%05d"', ("p",)),
    ("location=p-%02d max-files=2", SIZE_OF_FRAGMENT, "holds a recording already", FRAGMENTS[:2]),
    ("location=p-%02d max-files=2", f"{SIZE_OF_FRAGMENT} force=true", None, FRAGMENTS[:2]),
    ("location=p-%02d", f"size={28 * MIB}", "No hole of the store is long enough.*chario df", FRAGMENTS[:2]),
    ("location=p/%02d", SIZE_OF_FRAGMENT, "has no '/'", ()),
    (f"location={'p' * 254}%02d", SIZE_OF_FRAGMENT, "255 bytes at most", ()),
])  # fmt: skip
def test_splitmuxsink_keeps_each_fragment(
    lab: Lab, splitter: str, sink: str | None, words: str | None, areas: tuple[str, ...]
) -> None:
    """50 pictures an area, or all in one if told to; where that cannot be, the pipeline fails and earlier ones stay."""
    if sink:
        splitter += f" muxer=matroskamux sink='chariosink store={lab.image} {sink}'"
    else:
        settings = f'sink-properties="properties,store=(string){lab.image},size=(guint64){4 * MIB}"'
        splitter += f" muxer-factory=matroskamux sink-factory=chariosink '{settings}'"
    # splitmuxsink of GStreamer 1.22 can miss the end of a source that is not live.
    raw = "videotestsrc is-live=true num-buffers=150 ! video/x-raw,width=160,height=120,framerate=250/1"
    encoded = f"{raw} ! vp8enc keyframe-max-dist=25 deadline=1"
    result = lab.run(f"{encoded} ! splitmuxsink max-size-time=200000000 {splitter}")
    assert (result.returncode == 0) == (words is None), result.stdout
    assert words is None or re.search(words, result.stdout), result.stdout
    for area in areas:
        pictures = 150 if "append" in splitter else 50
        assert lab.count(f"{lab.source(area)} ! matroskademux") == pictures
    if areas == FRAGMENTS:
        parts = " ".join(f"chariosrc store={lab.image} location={area} ! matroskademux ! queue ! c." for area in areas)
        assert lab.count(f"{parts} concat name=c") == 150


def test_no_header_of_a_muxer_leads_times_into_the_future(lab: Lab) -> None:
    """In a later fragment pictures have late running times, and the header of matroskamux has 0."""
    late = lab.frames(5).replace("videotestsrc", f"videotestsrc timestamp-offset={10**14}")
    lab.must(f"{late} ! vp8enc deadline=1 ! matroskamux ! {lab.sink('a', SIZE)}")
    shown = subprocess.check_output([BUILD / "cli/chario", "replay", "--store", lab.image, "--json", "a"], text=True)
    times = [int(time) for time in re.findall(r'"time_ns":(\d+)', shown)]
    assert len(times) > 5 and max(times) - min(times) < 10**12


def start_recording(lab: Lab, settings: str) -> subprocess.Popen[str]:
    """A live pipeline that records for ever, and has made 20 durable records; one who follows has seen them."""
    endless = f"videotestsrc is-live=true pattern=ball ! {RAW}"
    recorder = lab.start(f"{endless} ! {lab.sink('a', f'{SIZE} flush-ms=50 {settings}')}", "-q")
    source = lab.source("a", "num-buffers=20 follow=true")
    seen = ""
    while "chain" not in seen:
        assert recorder.poll() is None, recorder.communicate()
        seen = lab.run(f"{source} ! identity silent=false ! fakesink", "-v").stdout
    assert len(re.findall(r"chain .*\(\d+ bytes", seen)) == 20
    return recorder


def test_a_killed_pipeline_leaves_its_recording(lab: Lab) -> None:
    """What had become durable is there, whole, and another pipeline goes on with it."""
    recorder = start_recording(lab, "ring=true")
    recorder.send_signal(signal.SIGKILL)
    recorder.communicate()
    back = lab.into_file(lab.source("a"), "back.raw")
    assert len(back) >= 20 * FRAME_BYTES
    assert len(back) % FRAME_BYTES == 0
    lab.must(f"{lab.frames(3)} ! {lab.sink('a', 'append=true ring=true')}")
    assert len(lab.into_file(lab.source("a"), "more.raw")) == len(back) + 3 * FRAME_BYTES


@pytest.mark.parametrize(("pipeline", "words"), [
    ("videotestsrc ! chariosink", "Set the properties store"),
    ("chariosrc ! fakesink", "Set the properties store"),
    ("videotestsrc ! chariosink store=/nowhere/file area=a", "There is no such disk and no such file. chario list"),
    ("videotestsrc ! {sink}", "There is no such area. chario ls"),
    ("videotestsrc ! {sink} size=1099511627776", "No hole of the store.*chario df"),
    ("videotestsrc ! {sink} size=1048576 segment-bytes=5000", "segment-bytes is a multiple of 4096"),
    ("videotestsrc ! {sink} size=8192 segment-bytes=8192", "shorter than two segments"),
    ("videotestsrc ! {sink} size=1048576 append=true force=true", "set one of them"),
    ("{source} ! fakesink", "There is no such area"),
])  # fmt: skip
def test_errors_say_what_to_do(lab: Lab, pipeline: str, words: str) -> None:
    """One message, and the pipeline ends; no area is left behind."""
    result = lab.run(pipeline.format(sink=lab.sink("a"), source=lab.source("a")))
    assert result.returncode != 0
    assert re.search(words, result.stdout), result.stdout
    assert "There is no such area" in lab.run(f"{lab.source('a')} ! fakesink").stdout


def test_what_is_no_store_and_no_recording_of_ours(lab: Lab) -> None:
    """The one has no store, the other no caps."""
    other = lab.folder / "other"
    other.write_bytes(bytes(MIB))
    result = lab.run(f"videotestsrc ! chariosink store={other} area=a")
    assert "There is no store on it. chario format" in result.stdout
    subprocess.run([BUILD / "tests/gst/make-store", lab.image, "a", str(MIB)], check=True)
    result = lab.run(f"{lab.source('a')} ! fakesink")
    assert "The area holds no recording. chariosink makes one" in result.stdout
    subprocess.run([BUILD / "tests/gst/make-store", lab.image, "b", str(MIB), "filling"], check=True)
    result = lab.run(f"videotestsrc ! {lab.sink('b', 'append=true')}")
    assert "The area holds a file of chario put, or a part of one. Take another area" in result.stdout


def test_an_area_has_one_writer(lab: Lab) -> None:
    """The second is told who is there; ctrl-c ends the first as it should end."""
    recorder = start_recording(lab, "")
    for settings in ("", "append=true", "force=true"):
        assert "The area is open elsewhere" in lab.run(f"{lab.frames(1)} ! {lab.sink('a', settings)}").stdout
    recorder.send_signal(signal.SIGINT)
    output, _ = recorder.communicate(timeout=60)
    assert "ERROR" not in output
    assert len(lab.into_file(lab.source("a", "follow=true"), "back.raw")) >= 20 * FRAME_BYTES
    both = f"{lab.frames(1)} ! tee name=t ! {lab.sink('b', SIZE_OF_FRAGMENT)} t. ! {lab.sink('b', SIZE_OF_FRAGMENT)}"
    assert "The area is open elsewhere" in lab.run(both).stdout
