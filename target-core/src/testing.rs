//! Test doubles: a device in memory that can be told to fail or to hang, and a target around it that is driven without an executor.

use crate::device::{BlockDevice, Capabilities, DeviceError, Discard, Extent, Geometry};
use crate::lun::background::{Spawner, Work};
use crate::lun::identity::Identity;
use crate::lun::memory::{Document, MemoryError, Remembering, UnitMemory};
use crate::lun::target::TargetDevice;
use crate::lun::unit::{LogicalUnit, UnitConfig};
use crate::payload::Payload;
use crate::scsi::command::{
    Cdb, Command, DeviceServer, Nexus, NexusId, Outcome, Response, TaskAttribute, TaskTag,
};
use crate::scsi::lun_address::LunAddress;
use crate::scsi::sense::{Asc, SenseKey, Status};
use bytes::Bytes;
use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

/// Bytes for which allocation is kept.
const CELL: usize = 512;

/// A device in memory.
pub struct RamDevice {
    pub data: Mutex<Vec<u8>>,
    mapped: Mutex<Vec<bool>>,
    pub capabilities: Capabilities,
    pub geometry: Mutex<Geometry>,
    /// Every operation fails with this.
    pub error: Mutex<Option<DeviceError>>,
    /// Operations wait while this is set.
    held: Mutex<(bool, Vec<Waker>)>,
    /// Operations that wait.
    pub inside: AtomicU64,
    pub calls: Mutex<Vec<String>>,
}

impl RamDevice {
    pub fn new(size: usize) -> Self {
        Self {
            data: Mutex::new(vec![0; size]),
            mapped: Mutex::new(vec![false; size / CELL]),
            capabilities: Capabilities {
                read_only: false,
                volatile_cache: true,
                discard: Some(Discard { granularity: 4096 }),
                write_zeroes: true,
                allocation_map: true,
                max_transfer: 64 * 1024,
                atomic_write: 4096,
            },
            geometry: Mutex::new(Geometry { size: size as u64, physical_block: 4096, optimal_io: 0 }),
            error: Mutex::default(),
            held: Mutex::default(),
            inside: AtomicU64::new(0),
            calls: Mutex::default(),
        }
    }

    /// Makes operations wait, or lets them go on.
    pub fn hold(&self, hold: bool) {
        let mut held = self.held.lock().unwrap();
        held.0 = hold;
        held.1.drain(..).for_each(Waker::wake);
    }

    async fn enter(&self, call: String) -> Result<(), DeviceError> {
        self.calls.lock().unwrap().push(call);
        self.inside.fetch_add(1, Ordering::SeqCst);
        poll_fn(|context| {
            let mut held = self.held.lock().unwrap();
            if held.0 {
                held.1.push(context.waker().clone());
                return Poll::Pending;
            }
            Poll::Ready(())
        })
        .await;
        self.inside.fetch_sub(1, Ordering::SeqCst);
        match *self.error.lock().unwrap() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    fn check(&self, offset: u64, len: u64) -> std::ops::Range<usize> {
        assert!(offset.is_multiple_of(512) && len.is_multiple_of(512), "unaligned: {offset} {len}");
        assert!(offset + len <= self.geometry.lock().unwrap().size, "beyond the end: {offset} {len}");
        offset as usize..(offset + len) as usize
    }

    fn map(&self, range: std::ops::Range<usize>, mapped: bool) {
        self.mapped.lock().unwrap()[range.start / CELL..range.end / CELL].fill(mapped);
    }
}

impl BlockDevice for RamDevice {
    fn geometry(&self) -> Geometry {
        *self.geometry.lock().unwrap()
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    async fn read(&self, offset: u64, len: usize) -> Result<Bytes, DeviceError> {
        assert!(len > 0 && len <= self.capabilities.max_transfer as usize);
        let range = self.check(offset, len as u64);
        self.enter(format!("read {offset} {len}")).await?;
        Ok(Bytes::copy_from_slice(&self.data.lock().unwrap()[range]))
    }

    async fn write(&self, offset: u64, data: &Payload, fua: bool) -> Result<(), DeviceError> {
        assert!(!data.is_empty() && data.len() <= self.capabilities.max_transfer as usize);
        assert!(!self.capabilities.read_only);
        let range = self.check(offset, data.len() as u64);
        self.enter(format!("write {offset} {} {fua}", data.len())).await?;
        data.copy_to_slice(&mut self.data.lock().unwrap()[range.clone()]);
        self.map(range, true);
        Ok(())
    }

    async fn flush(&self) -> Result<(), DeviceError> {
        self.enter("flush".into()).await
    }

    async fn discard(&self, offset: u64, len: u64) -> Result<(), DeviceError> {
        assert!(len > 0 && !self.capabilities.read_only);
        let range = self.check(offset, len);
        self.enter(format!("discard {offset} {len}")).await?;
        self.data.lock().unwrap()[range.clone()].fill(0);
        self.map(range, false);
        Ok(())
    }

    async fn write_zeroes(&self, offset: u64, len: u64) -> Result<(), DeviceError> {
        assert!(len > 0 && !self.capabilities.read_only);
        let range = self.check(offset, len);
        self.enter(format!("zero {offset} {len}")).await?;
        if !self.capabilities.write_zeroes {
            return Err(DeviceError::Unsupported);
        }
        self.data.lock().unwrap()[range.clone()].fill(0);
        self.map(range, true);
        Ok(())
    }

    async fn allocation_map(
        &self,
        offset: u64,
        len: u64,
        max_extents: usize,
    ) -> Result<Vec<Extent>, DeviceError> {
        let range = self.check(offset, len);
        self.enter(format!("map {offset} {len}")).await?;
        let mut extents: Vec<Extent> = Vec::new();
        for at in range.step_by(CELL) {
            let mapped = self.mapped.lock().unwrap()[at / CELL];
            let end = (at + CELL) as u64;
            let full = extents.len() == max_extents;
            match extents.last_mut() {
                Some(last) if last.mapped == mapped => last.range.end = end,
                _ if full => break,
                _ => extents.push(Extent { range: at as u64..end, mapped }),
            }
        }
        Ok(extents)
    }

    async fn resize(&self, size: u64) -> Result<(), DeviceError> {
        self.data.lock().unwrap().resize(size as usize, 0);
        self.mapped.lock().unwrap().resize(size as usize / CELL, false);
        self.geometry.lock().unwrap().size = size;
        Ok(())
    }
}

/// A memory that outlives units, not the test, and can be told to fail or to wait.
#[derive(Default)]
pub struct RamMemory {
    pub documents: Mutex<HashMap<Document, Bytes>>,
    /// Every operation fails with this.
    pub error: Mutex<Option<MemoryError>>,
    /// So many times what is kept is told as failed, though it is there.
    pub slips: Mutex<u32>,
    held: Mutex<(bool, Vec<Waker>)>,
}

impl RamMemory {
    /// Makes what is to be kept wait, or lets it go on.
    pub fn hold(&self, hold: bool) {
        let mut held = self.held.lock().unwrap();
        held.0 = hold;
        held.1.drain(..).for_each(Waker::wake);
    }

    /// What is kept of a document.
    pub fn document(&self, document: Document) -> Bytes {
        self.documents.lock().unwrap().get(&document).cloned().unwrap_or_default()
    }
}

impl UnitMemory for RamMemory {
    fn recall(&self, document: Document) -> Remembering<'_, Option<Bytes>> {
        Box::pin(async move {
            match self.error.lock().unwrap().clone() {
                Some(error) => Err(error),
                None => Ok(self.documents.lock().unwrap().get(&document).cloned()),
            }
        })
    }

    fn keep(&self, document: Document, contents: Bytes) -> Remembering<'_, ()> {
        Box::pin(async move {
            poll_fn(|context| {
                let mut held = self.held.lock().unwrap();
                if held.0 {
                    held.1.push(context.waker().clone());
                    return Poll::Pending;
                }
                Poll::Ready(())
            })
            .await;
            match self.error.lock().unwrap().clone() {
                Some(error) => Err(error),
                None => {
                    self.documents.lock().unwrap().insert(document, contents);
                    let mut slips = self.slips.lock().unwrap();
                    match slips.checked_sub(1) {
                        None => Ok(()),
                        Some(rest) => {
                            *slips = rest;
                            Err(MemoryError::Store("told to slip".into()))
                        }
                    }
                }
            }
        })
    }
}

/// A nexus.
pub fn nexus(id: u64) -> Arc<Nexus> {
    Arc::new(Nexus {
        id: NexusId(id),
        initiator_name: format!("iqn.2026-12.io.example:initiator{id}"),
        isid: [0x80, 0, 0, 0, 0, id as u8],
        target_name: "iqn.2026-12.io.glint:demo".into(),
        portal_group_tag: 1,
        relative_port: 1,
        proofs: Vec::new(),
    })
}

pub fn config(block_size: u32) -> UnitConfig {
    UnitConfig {
        identity: Identity::new("0123456789"),
        block_size,
        read_only: false,
        removable: false,
        max_transfer: 1 << 20,
    }
}

/// Polls a future once.
pub fn poll<F: Future + ?Sized>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// Polls a future to its end, which has to come without anybody's help but that of other threads: they may have to wait long for a
/// processor, so the limit is a time and not a number.
pub fn finish<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        for _ in 0..1000 {
            if let Poll::Ready(output) = poll(future.as_mut()) {
                return output;
            }
        }
        assert!(Instant::now() < deadline, "the future does not come to an end");
        thread::yield_now();
    }
}

/// Runs work in the background a step at a time, when it is told to.
#[derive(Default)]
pub struct Crew(Mutex<Vec<Work>>);

impl Crew {
    /// Polls every piece of work once; tells how many are left.
    pub fn step(&self) -> usize {
        let mut work = std::mem::take(&mut *self.0.lock().unwrap());
        work.retain_mut(|work| poll(work.as_mut()).is_pending());
        let mut all = self.0.lock().unwrap();
        all.append(&mut work);
        all.len()
    }

    /// Polls until nothing is left, which has to come without anybody's help.
    pub fn finish(&self) {
        assert!((0..1_000_000).any(|_| self.step() == 0), "the work does not come to an end");
    }

    /// Drops all work unfinished.
    pub fn dismiss(&self) {
        self.0.lock().unwrap().clear();
    }
}

impl Spawner for Crew {
    fn spawn(&self, work: Work) {
        self.0.lock().unwrap().push(work);
    }
}

/// A target with unit 0, and nexus 1 whose first unit attention is over.
pub struct Bench {
    pub target: TargetDevice<RamDevice>,
    pub unit: Arc<LogicalUnit<RamDevice>>,
    pub nexus: Arc<Nexus>,
}

impl Bench {
    pub fn new() -> Self {
        Self::with(config(512), RamDevice::new(1 << 20))
    }

    pub fn with(config: UnitConfig, device: RamDevice) -> Self {
        Self::serving(LogicalUnit::new(config, device))
    }

    /// A unit that remembers, and has recalled what it had kept.
    pub fn remembering(config: UnitConfig, device: RamDevice, memory: Arc<RamMemory>) -> Self {
        let unit = LogicalUnit::new(config, device).with_memory(memory);
        finish(unit.restore_mode_parameters()).unwrap();
        Self::serving(unit)
    }

    /// With a crew for work in the background.
    pub fn with_crew(config: UnitConfig, device: RamDevice) -> (Self, Arc<Crew>) {
        let crew = Arc::new(Crew::default());
        (Self::serving(LogicalUnit::new(config, device).with_spawner(crew.clone())), crew)
    }

    pub fn serving(unit: LogicalUnit<RamDevice>) -> Self {
        Self::around(Arc::new(unit))
    }

    /// A target around a unit that has recalled what it had to.
    pub fn around(unit: Arc<LogicalUnit<RamDevice>>) -> Self {
        let target = TargetDevice::new("iqn.2026-12.io.glint:demo".into());
        assert!(target.add_unit(0, unit.clone()).is_none());
        let bench = Self { target, unit, nexus: nexus(1) };
        bench.login(&bench.nexus);
        bench
    }

    /// Establishes a nexus and takes its first unit attention.
    pub fn login(&self, nexus: &Arc<Nexus>) {
        self.target.nexus_established(nexus);
        let response = self.run_as(nexus, &[0; 6], &[]);
        assert_eq!(sense_of(&response), Some((SenseKey::UnitAttention, Asc(0x29, 0))));
    }

    pub fn device(&self) -> &RamDevice {
        self.unit.device()
    }

    pub fn command(cdb: &[u8], data_out: &[u8]) -> Command {
        Command {
            lun: LunAddress::from_number(0),
            tag: TaskTag(1),
            attribute: TaskAttribute::Simple,
            priority: 0,
            cdb: Cdb(cdb.into()),
            data_out: data_out.to_vec().into(),
            data_out_beyond: 0,
            data_in_room: u32::MAX,
        }
    }

    pub fn execute(&self, nexus: &Arc<Nexus>, command: Command) -> Response {
        match finish(self.target.execute(nexus, command)) {
            Outcome::Done(response) => response,
            Outcome::Aborted => panic!("aborted"),
        }
    }

    pub fn run_as(&self, nexus: &Arc<Nexus>, cdb: &[u8], data_out: &[u8]) -> Response {
        self.execute(nexus, Self::command(cdb, data_out))
    }

    pub fn run(&self, cdb: &[u8], data_out: &[u8]) -> Response {
        self.run_as(&self.nexus, cdb, data_out)
    }

    /// Runs a command that has to succeed and gives its data.
    pub fn good(&self, cdb: &[u8], data_out: &[u8]) -> Bytes {
        let response = self.run(cdb, data_out);
        assert_eq!(response.status, Status::Good, "{cdb:02x?}: {:x?}", response.sense_value);
        response.data_in.to_bytes()
    }

    /// Runs a command that has to fail with this sense key and code.
    pub fn fails(&self, cdb: &[u8], data_out: &[u8], key: SenseKey, asc: Asc) -> Response {
        let response = self.run(cdb, data_out);
        assert_eq!(sense_of(&response), Some((key, asc)), "{cdb:02x?}");
        response
    }
}

pub fn sense_of(response: &Response) -> Option<(SenseKey, Asc)> {
    assert_eq!(response.sense_value.is_some(), response.status == Status::CheckCondition);
    assert_eq!(response.sense_value.is_some(), !response.sense.is_empty());
    response.sense_value.map(|sense| (sense.key, sense.asc))
}
