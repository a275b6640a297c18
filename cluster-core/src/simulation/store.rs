//! The store of the owner record and the heartbeats. That compare-and-set is one is shown where the documents are.

use crate::membership::Incarnation;
use crate::ownership::{Epoch, Holder, OwnerRecord, Seen};
use bytes::Bytes;
use std::collections::BTreeMap;

pub struct Store {
    pub record: Seen,
    pub beats: BTreeMap<Incarnation, Bytes>,
    pub damages: u64,
}

impl Store {
    pub fn new() -> Self {
        let record = Seen { epoch: Epoch(0), record: OwnerRecord::of(Holder::Nobody) };
        Self { record, beats: BTreeMap::new(), damages: 0 }
    }

    pub fn set(&mut self, after: Epoch, record: OwnerRecord) -> bool {
        let is_next = self.record.epoch == after;
        if is_next {
            self.record = Seen { epoch: Epoch(after.0 + 1), record };
        }
        is_next
    }

    pub fn damage(&mut self) {
        if self.record.epoch > Epoch(0) {
            self.damages += 1;
            self.record.record = OwnerRecord::of(Holder::Damaged);
        }
    }
}
