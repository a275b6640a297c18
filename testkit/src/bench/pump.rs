//! A load from an initiator of our own, over one connection, for what libiscsi does not know: data digests.
//!
//! It reads and writes in order. It spends little of its own, so that what it is connected to is the limit: data goes to the socket from where it
//! is, its digest is known beforehand, and what comes is looked at where it arrived.

use std::collections::HashMap;
use std::io::{ErrorKind, IoSlice, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use glint_target_core::login::parameters::Digest;
use glint_target_core::pdu::fields::Serial;
use glint_target_core::pdu::initiator::{DataOut, InitiatorPdu, ScsiCommand};
use glint_target_core::pdu::opcode;
use glint_target_core::scsi::lun_address::LunAddress;

use super::client::Seen;
use super::work::{Pattern, Work};
use crate::initiator::{GOOD, Initiator, PATIENCE, Port, Stage, TEST_UNIT_READY};

/// A basic header segment.
type Bhs = [u8; 48];

/// Run a load for so long. Panics on whatever goes wrong.
#[track_caller]
pub fn run(work: &Work, url: &str, digests: bool, time: Duration) -> Seen {
    let mut pump = Pump::connect(url, digests, work.block);
    while pump.status_of(pump.initiator.prepare(&TEST_UNIT_READY, 0)) != GOOD {}
    assert_eq!(pump.status_of(pump.initiator.prepare(&[0x25, 0, 0, 0, 0, 0, 0, 0, 0, 0], 8)), GOOD);
    let block_size = u64::from(u32::from_be_bytes(*pump.input.first.last_chunk().expect("8 bytes")));
    let (step, size) = (u64::from(work.block) / block_size, work.size() / block_size);

    let mut lba = 0;
    let mut next = move |initiator: &Initiator| {
        let at = u32::try_from(lba).expect("a small volume").to_be_bytes();
        let blocks = u16::try_from(step).expect("small requests").to_be_bytes();
        lba = if lba + 2 * step > size { 0 } else { lba + step };
        let cdb = |code| [code, 0, at[0], at[1], at[2], at[3], 0, blocks[0], blocks[1], 0];
        match work.pattern {
            Pattern::Read => initiator.prepare(&cdb(0x28), work.block),
            Pattern::Write => initiator.prepare_write(&cdb(0x2a), work.block, false),
            other => panic!("{other:?} is not in order"),
        }
    };
    let start = Instant::now();
    let mut under_way = HashMap::new();
    let mut latencies = Vec::new();
    for _ in 0..work.depth {
        let command = next(&pump.initiator);
        under_way.insert(command.initiator_task_tag, Instant::now());
        pump.send_command(command);
    }
    while !under_way.is_empty() {
        let (tag, status) = pump.end();
        assert_eq!(status, GOOD, "a command failed");
        let now = Instant::now();
        latencies.push(now - under_way.remove(&tag).expect("the end is that of a command"));
        if now - start < time {
            let command = next(&pump.initiator);
            under_way.insert(command.initiator_task_tag, now);
            pump.send_command(command);
        }
    }
    seen(&mut latencies, work.block, start.elapsed()).expect("commands have ended")
}

/// What came of it; none without an operation.
fn seen(latencies: &mut [Duration], block: u32, time: Duration) -> Option<Seen> {
    latencies.sort_unstable();
    let micros = |latency: &Duration| latency.as_secs_f64() * 1e6;
    let p99_us = micros(latencies.get(latencies.len().checked_sub(1)? * 99 / 100)?);
    let operations = latencies.len() as f64;
    let iops = operations / time.as_secs_f64();
    let mean_us = latencies.iter().map(micros).sum::<f64>() / operations;
    Some(Seen { iops, bandwidth: iops * f64::from(block), mean_us, p99_us, operations })
}

/// `iscsi://PORTAL/TARGET/LUN`, in its parts.
fn parts(url: &str) -> Option<(&str, &str, u16)> {
    let (portal, rest) = url.strip_prefix("iscsi://")?.split_once('/')?;
    let (target, lun) = rest.rsplit_once('/')?;
    Some((portal, target, lun.parse().ok()?))
}

/// A key's value in the text of a login.
fn value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.split('\0').find_map(|pair| pair.strip_prefix(key)?.strip_prefix('='))
}

struct Pump {
    initiator: Initiator,
    lun: LunAddress,
    input: Input,
    output: TcpStream,
    digests: bool,
    /// What every write writes.
    payload: Vec<u8>,
    /// Digests of the beginnings of it that were sent.
    known: HashMap<usize, [u8; 4]>,
    /// The most data of one PDU, and of a command what goes with it unasked.
    segment: usize,
    unasked: usize,
    exp_stat_sn: Serial,
}

impl Pump {
    #[track_caller]
    fn connect(url: &str, digests: bool, block: u32) -> Self {
        let (portal, target, lun) = parts(url).expect("a URL of libiscsi");
        let digest = if digests { "CRC32C" } else { "None" };
        let keys = format!(
            "HeaderDigest={digest}\0DataDigest={digest}\0InitialR2T=Yes\0ImmediateData=Yes\0MaxRecvDataSegmentLength=262144\0\
             MaxBurstLength=1048576\0FirstBurstLength=262144\0"
        );
        let port = Port { keys, ..Port::new(target, 1) };
        let mut initiator = Initiator::connect(portal.parse().expect("an address"), port);
        let mut answer = initiator.login();
        let mut text = String::from_utf8_lossy(&answer.data).into_owned();
        while answer.status_class == 0 && !answer.transit {
            let request = initiator.login_request(Stage::Operational, true, "");
            initiator.send(request);
            answer = initiator.login_response();
            text.push_str(&String::from_utf8_lossy(&answer.data));
        }
        assert_eq!((answer.status_class, answer.status_detail), (0, 0), "the login was refused");
        assert_eq!(
            value(&text, "DataDigest").unwrap_or("None"),
            digest,
            "not the digests that were asked for"
        );
        let number =
            |key, default: usize| value(&text, key).and_then(|value| value.parse().ok()).unwrap_or(default);
        let segment = number("MaxRecvDataSegmentLength", 8192);
        let output = initiator.socket().try_clone().expect("one more descriptor");
        let input = output.try_clone().expect("one more descriptor");
        input.set_read_timeout(Some(PATIENCE)).expect("a read time limit");
        Self {
            lun: LunAddress::from_number(lun),
            input: Input::new(input),
            output,
            digests,
            payload: vec![0x5a; block as usize],
            known: HashMap::new(),
            segment,
            unasked: segment.min(number("FirstBurstLength", 65_536)),
            exp_stat_sn: initiator.exp_stat_sn,
            initiator,
        }
    }

    /// Sends a command, with as much of the payload as it may bring, if it writes.
    fn send_command(&mut self, command: ScsiCommand) {
        let length = if command.write { command.expected_data_transfer_length as usize } else { 0 };
        let command = ScsiCommand { lun: self.lun, exp_stat_sn: self.exp_stat_sn, ..command };
        self.send(&InitiatorPdu::ScsiCommand(command), length.min(self.unasked));
    }

    /// Sends a PDU that has no data, with so much of the payload as its data.
    fn send(&mut self, pdu: &InitiatorPdu, length: usize) {
        let mut header = BytesMut::with_capacity(52);
        pdu.encode(Digest::None, Digest::None, &mut header);
        let [_, high, middle, low] = u32::try_from(length).expect("short segments").to_be_bytes();
        header[5..8].copy_from_slice(&[high, middle, low]);
        let data = &self.payload[..length];
        let mut digest: &[u8] = &[];
        if self.digests {
            let sum = crc32c::crc32c(&header);
            header.extend_from_slice(&sum.to_le_bytes());
            if length > 0 {
                digest = self.known.entry(length).or_insert_with(|| crc32c::crc32c(data).to_le_bytes());
            }
        }
        let mut slices = [IoSlice::new(&header), IoSlice::new(data), IoSlice::new(digest)];
        let mut left = &mut slices[..];
        // Slices without bytes are passed over, so that none is left when all has been written.
        IoSlice::advance_slices(&mut left, 0);
        while !left.is_empty() {
            match self.output.write_vectored(left) {
                Ok(written) => IoSlice::advance_slices(&mut left, written),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => panic!("the connection broke: {error}"),
            }
        }
    }

    /// The tag and status of the command that ends next; what is asked for meanwhile is sent.
    #[track_caller]
    fn end(&mut self) -> (u32, u8) {
        loop {
            let header: Bhs = self.input.take();
            let word = |at: usize| u32::from_be_bytes(*header[at..].first_chunk().expect("within a header"));
            if self.digests {
                assert_eq!(
                    self.input.take(),
                    crc32c::crc32c(&header).to_le_bytes(),
                    "a header digest is wrong"
                );
            }
            assert_eq!(header[4], 0, "no additional header was asked for");
            // The digest is of the padding too.
            let length = ((word(4) & 0xff_ffff) as usize).next_multiple_of(4);
            let sum = self.input.data(length, self.digests);
            if self.digests && length > 0 {
                assert_eq!(self.input.take(), sum.to_le_bytes(), "a data digest is wrong");
            }
            let (opcode, tag, has_status) = (header[0] & 0x3f, word(16), header[1] & 1 != 0);
            match opcode {
                opcode::READY_TO_TRANSFER => self.answer(tag, word(20), word(40), word(44)),
                opcode::DATA_IN if !has_status => {}
                opcode::DATA_IN | opcode::SCSI_RESPONSE => {
                    self.exp_stat_sn = Serial(word(24)).plus(1);
                    return (tag, header[3]);
                }
                other => panic!("unexpected PDU {other:#04x}"),
            }
        }
    }

    /// Sends what an R2T asks for.
    fn answer(&mut self, tag: u32, transfer_tag: u32, offset: u32, length: u32) {
        let (mut sent, mut data_sn) = (0, 0);
        while sent < length {
            let piece = (length - sent).min(u32::try_from(self.segment).unwrap_or(u32::MAX));
            let pdu = DataOut {
                is_final: sent + piece == length,
                lun: self.lun,
                initiator_task_tag: tag,
                target_transfer_tag: transfer_tag,
                exp_stat_sn: self.exp_stat_sn,
                data_sn,
                buffer_offset: offset + sent,
                data: Bytes::new(),
            };
            self.send(&InitiatorPdu::DataOut(pdu), piece as usize);
            sent += piece;
            data_sn += 1;
        }
    }

    /// Runs a command to its end.
    #[track_caller]
    fn status_of(&mut self, command: ScsiCommand) -> u8 {
        self.send_command(command);
        self.end().1
    }
}

/// What comes, as it arrives.
struct Input {
    socket: TcpStream,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// The first bytes of the last data segment.
    first: [u8; 8],
}

impl Input {
    fn new(socket: TcpStream) -> Self {
        Self { socket, buffer: vec![0; 512 << 10], start: 0, end: 0, first: [0; 8] }
    }

    /// Waits until there is something more.
    #[track_caller]
    fn fill(&mut self) {
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        loop {
            match self.socket.read(&mut self.buffer[self.end..]) {
                Ok(0) => panic!("the target has closed"),
                Ok(read) => break self.end += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => panic!("the connection broke: {error}"),
            }
        }
    }

    /// So many bytes; few.
    #[track_caller]
    fn take<const COUNT: usize>(&mut self) -> [u8; COUNT] {
        while self.end - self.start < COUNT {
            self.fill();
        }
        let taken = *self.buffer[self.start..self.end].first_chunk().expect("there is as much");
        self.start += COUNT;
        taken
    }

    /// Passes over so much data and gives its digest, if that is wanted.
    #[track_caller]
    fn data(&mut self, length: usize, digest: bool) -> u32 {
        let (mut left, mut sum) = (length, 0);
        while left > 0 {
            if self.start == self.end {
                self.fill();
            }
            let piece = &self.buffer[self.start..self.end.min(self.start + left)];
            if let Some(first) = piece.first_chunk().filter(|_| left == length) {
                self.first = *first;
            }
            if digest {
                sum = crc32c::crc32c_append(sum, piece);
            }
            self.start += piece.len();
            left -= piece.len();
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_taken_apart() {
        let url = "iscsi://127.0.0.1:20061/iqn.2026-12.io.glint:v0/1";
        assert_eq!(parts(url), Some(("127.0.0.1:20061", "iqn.2026-12.io.glint:v0", 1)));
        assert_eq!(parts("http://127.0.0.1/a/0"), None);
    }

    #[test]
    fn keys_are_found_whole() {
        let text = "FirstBurstLength=65536\0DataDigest=CRC32C\0";
        assert_eq!(value(text, "DataDigest"), Some("CRC32C"));
        assert_eq!(value(text, "Data"), None);
    }

    #[test]
    fn percentiles_are_of_the_slowest() {
        let mut latencies: Vec<Duration> = (1..=101).rev().map(Duration::from_micros).collect();
        let seen = seen(&mut latencies, 4096, Duration::from_secs(2)).expect("operations");
        assert_eq!((seen.iops, seen.bandwidth, seen.operations), (50.5, 50.5 * 4096.0, 101.0));
        assert!((seen.p99_us - 100.0).abs() < 1e-6 && (seen.mean_us - 51.0).abs() < 1e-6, "{seen:?}");
        assert_eq!(super::seen(&mut [], 4096, Duration::from_secs(2)), None);
    }
}
