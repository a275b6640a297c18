//! Moving the data of a copy: in pieces, a few of them at a time, each read under a claim of its source and then written under a claim of its
//! destination, never both at once: so that two copies can't wait for each other.

use super::order::Order;
use crate::device::BlockDevice;
use crate::lun::claim::Claim;
use crate::lun::condition::UpkeepRule;
use crate::lun::copy::Reached;
use crate::lun::copy::watch::Watch;
use crate::lun::task_set::Task;
use crate::lun::unit::LogicalUnit;
use crate::payload::Payload;
use crate::scsi::effort::Effort;
use crate::scsi::request::yield_now;
use crate::scsi::row::{AccessClass, Needs, ReservationClass};
use crate::scsi::sense::{Fault, Sense, Status};
use crate::scsi::{blocks, gates};
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::FuturesOrdered;
use std::ops::Range;
use std::sync::Arc;

/// Most bytes of a piece, a multiple of every block size.
const PIECE: u64 = 1 << 20;
/// Bytes that are zeroed under one claim.
const ZERO_PIECE: u64 = 16 << 20;
/// Pieces of one copy that are under way at a time.
const IN_FLIGHT: usize = 4;

/// One of both ends of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// What is read.
    Source,
    /// What is written.
    Destination,
}

/// Why a transfer ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Its command was aborted, or it itself.
    Unwanted(Fault),
    /// The initiator no longer reaches a unit.
    Unreachable(Side),
    /// A unit refused or failed.
    Failed(Side, Fault),
    /// The source has changed, and was not to.
    Revoked,
}

/// What is copied.
pub enum Origin<D> {
    /// Zeros without end.
    Zeros,
    /// Blocks of a unit, one range after the other, and what tells that they have changed. They are followed by zeros.
    Blocks { end: Reached<D>, ranges: Arc<[Range<u64>]>, watch: Option<Arc<Watch>> },
}

/// One transfer.
pub struct Transfer<'a, D> {
    /// On whose behalf.
    pub order: &'a Order<'a, D>,
    /// From where.
    pub origin: Origin<D>,
    /// How many bytes of that are left out at its beginning.
    pub skip: u64,
    /// To where: the unit,
    pub destination: Reached<D>,
    /// and its blocks, one range after the other.
    pub ranges: Vec<Range<u64>>,
}

/// What is copied in one go.
#[derive(Clone, Debug)]
struct Piece {
    /// Bytes of the origin that come before.
    offset: u64,
    /// Where it goes, in bytes of the device.
    to: Range<u64>,
}

/// How the pieces follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Course {
    /// Several at a time.
    Parallel,
    /// Each after the other, for the destination overlaps the source.
    Forwards,
    /// The same from the end, for the destination lies behind the source.
    Backwards,
}

impl<D: BlockDevice> Transfer<'_, D> {
    /// Copies everything, or as much as can be.
    pub async fn run(&self) -> Result<(), Stop> {
        match &self.origin {
            Origin::Zeros => self.zero().await,
            Origin::Blocks { end, ranges, watch } => self.copy(end, ranges, watch.as_deref()).await,
        }
    }

    /// Where anything fails, what is under way already comes to its end: nothing is written once the answer is given.
    async fn copy(
        &self,
        source: &Reached<D>,
        ranges: &[Range<u64>],
        watch: Option<&Watch>,
    ) -> Result<(), Stop> {
        let course = self.course(source, ranges);
        let mut pieces: Vec<Piece> = self.pieces().collect();
        if course == Course::Backwards {
            pieces.reverse();
        }
        let most = if course == Course::Parallel { IN_FLIGHT } else { 1 };
        let mut pieces = pieces.into_iter();
        let mut window = FuturesOrdered::new();
        let mut result = Ok(());
        let mut copied = 0;
        loop {
            while result.is_ok() && window.len() < most {
                let Some(piece) = pieces.next() else { break };
                window.push_back(self.piece(source, ranges, watch, piece));
            }
            match window.next().await {
                Some(Ok(bytes)) if result.is_ok() && course != Course::Backwards => {
                    self.order.operation.advance(bytes);
                }
                Some(Ok(bytes)) => copied += bytes,
                Some(Err(stop)) => result = result.and(Err(stop)),
                None => break,
            }
        }
        // What was written from the end hangs together with the beginning only when all is there.
        if result.is_ok() {
            self.order.operation.advance(copied);
        }
        result
    }

    fn course(&self, source: &Reached<D>, ranges: &[Range<u64>]) -> Course {
        let (Some(from), Some(to)) = (ranges.first(), self.ranges.first()) else { return Course::Parallel };
        let same = Arc::ptr_eq(&source.unit, &self.destination.unit);
        let meet = |a: &Range<u64>| self.ranges.iter().any(|b| a.start < b.end && b.start < a.end);
        match same && ranges.iter().any(meet) {
            false => Course::Parallel,
            true if to.start > from.start => Course::Backwards,
            true => Course::Forwards,
        }
    }

    fn pieces(&self) -> impl Iterator<Item = Piece> {
        let size = u64::from(self.destination.unit.block_size());
        let mut offset = self.skip;
        let ranges = self.ranges.iter().map(move |range| range.start * size..range.end * size);
        ranges.flat_map(|range| blocks::steps(range, PIECE)).map(move |to| {
            let piece = Piece { offset, to };
            offset += piece.to.end - piece.to.start;
            piece
        })
    }

    async fn piece(
        &self,
        source: &Reached<D>,
        ranges: &[Range<u64>],
        watch: Option<&Watch>,
        piece: Piece,
    ) -> Result<u64, Stop> {
        yield_now().await;
        let _permit = self.order.manager.permits().acquire().await;
        let len = piece.to.end - piece.to.start;
        let data = self.read(source, ranges, piece.offset..piece.offset + len).await?;
        // Asked after reading: whatever changes a block says so before.
        if watch.is_some_and(Watch::has_changed) {
            return Err(Stop::Revoked);
        }
        let step = Step::enter(self.order, &self.destination, Side::Destination, piece.to.clone()).await?;
        let written = blocks::write_bytes(&step, piece.to.start, &data, false).await;
        step.end(written)?;
        Ok(len)
    }

    /// Reads bytes of the origin, which count through all of its ranges.
    async fn read(
        &self,
        source: &Reached<D>,
        ranges: &[Range<u64>],
        wanted: Range<u64>,
    ) -> Result<Payload, Stop> {
        let size = u64::from(source.unit.block_size());
        let mut data = Payload::new();
        let mut before = 0;
        for range in ranges {
            let len = (range.end - range.start) * size;
            let part = wanted.start.max(before)..wanted.end.min(before + len);
            if part.start < part.end {
                let start = range.start * size;
                let own = start + (part.start - before)..start + (part.end - before);
                // A destination of smaller blocks may want a part of one.
                let whole = own.start / size * size..own.end.div_ceil(size) * size;
                let step = Step::enter(self.order, source, Side::Source, whole.clone()).await?;
                let read = blocks::read_bytes(&step, whole.clone()).await;
                let read = step.end(read)?;
                data.append(read.slice((own.start - whole.start) as usize, (own.end - own.start) as usize));
            }
            before += len;
        }
        let missing = (wanted.end - wanted.start).saturating_sub(data.len() as u64);
        if missing > 0 {
            data.push(Bytes::from(vec![0; missing as usize]));
        }
        Ok(data)
    }

    async fn zero(&self) -> Result<(), Stop> {
        let size = u64::from(self.destination.unit.block_size());
        for range in &self.ranges {
            for bytes in blocks::steps(range.start * size..range.end * size, ZERO_PIECE) {
                yield_now().await;
                let len = bytes.end - bytes.start;
                let step =
                    Step::enter(self.order, &self.destination, Side::Destination, bytes.clone()).await?;
                let zeroed = match blocks::zero(&step, bytes).await {
                    Ok(()) => blocks::settle(&step).await,
                    fault => fault,
                };
                step.end(zeroed)?;
                self.order.operation.advance(len);
            }
        }
        Ok(())
    }
}

/// A read or write of a copy, with its claim.
struct Step<'a, D: BlockDevice> {
    order: &'a Order<'a, D>,
    unit: &'a LogicalUnit<D>,
    side: Side,
    task: Task<'a>,
}

impl<'a, D: BlockDevice> Step<'a, D> {
    /// Waits for the blocks of these bytes, and sees whether the initiator may have them now.
    async fn enter(
        order: &'a Order<'a, D>,
        end: &'a Reached<D>,
        side: Side,
        bytes: Range<u64>,
    ) -> Result<Self, Stop> {
        let size = u64::from(end.unit.block_size());
        let blocks = bytes.start / size..bytes.end.div_ceil(size);
        let claim = Claim::Shared(blocks.clone());
        let mut task = end.unit.tasks().enter_step(end.nexus.id, claim.clone());
        task.started().await;
        let step = Self { order, unit: &end.unit, side, task };
        order.go_on().map_err(Stop::Unwanted)?;
        step.go_on().map_err(|fault| Stop::Failed(side, fault))?;
        // In the task set first: a unit that is taken away waits for those that came before.
        if !order.manager.is_reachable(end) {
            return Err(Stop::Unreachable(side));
        }
        step.pass(end, &blocks).map_err(|fault| Stop::Failed(side, fault))?;
        if side == Side::Destination && end.unit.watches().any() {
            end.unit.watches().touch(&claim);
        }
        Ok(step)
    }

    /// The gates that a READ or WRITE of the nexus would have to pass, but for unit attentions, which tell of things to the initiator and
    /// not to the copy manager.
    fn pass(&self, end: &Reached<D>, blocks: &Range<u64>) -> Result<(), Fault> {
        let (class, needs) = match self.side {
            Side::Source => (ReservationClass::Read, Needs::READ),
            Side::Destination => (ReservationClass::Write, Needs::WRITE),
        };
        gates::reservations(&end.unit, &end.nexus, class)?;
        gates::access(end.unit.access_state(), AccessClass::Active)?;
        end.unit.condition().check(UpkeepRule::Refuse, true)?;
        gates::medium(&end.unit, needs)?;
        // It may have been cut short since the copy began.
        match blocks.end > end.unit.capacity() {
            true => Err(Sense::out_of_range(blocks.start.max(end.unit.capacity())).into()),
            false => Ok(()),
        }
    }

    /// Leaves the task set, whatever the end.
    fn end<T>(self, result: Result<T, Fault>) -> Result<T, Stop> {
        self.order.operation.count_step();
        result.map_err(|fault| match self.order.go_on() {
            Err(unwanted) => Stop::Unwanted(unwanted),
            Ok(()) => Stop::Failed(self.side, fault),
        })
    }
}

impl<D: BlockDevice> Effort<D> for Step<'_, D> {
    fn unit(&self) -> &LogicalUnit<D> {
        self.unit
    }

    fn go_on(&self) -> Result<(), Fault> {
        self.order.go_on()?;
        match self.task.is_aborted() {
            true => Err(Fault::Status(Status::TaskAborted)),
            false => Ok(()),
        }
    }
}
