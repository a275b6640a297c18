//! The owner record of a volume (document `owner-<volume>`).

use crate::membership::{BootId, Incarnation, NodeId, RecordError};
use crate::store::{Body, DocumentName, Found, State};
use serde_json::{Value, json};

const PREFIX: &str = "owner-";

/// The version of the owner record, 0 where there is none. Not a member of the record: so it never goes back, whatever becomes of the contents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(pub u64);

/// Whose the volume is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder {
    /// Nobody ever had it.
    Nobody,
    /// This incarnation has it, or has died with it.
    Owned(Incarnation),
    /// Its owner has let go of it in good order, for the sake of that node if one is named.
    Released(Option<NodeId>),
    /// The newest record is damaged: somebody may have it.
    Damaged,
}

/// What is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnerRecord {
    /// [`Holder::Owned`] or [`Holder::Released`].
    pub holder: Holder,
    /// It was put where it is by hand, so it does not fail back.
    pub pinned: bool,
    /// How often in a row its preferred owner has died soon after it had got it back.
    pub failures: u32,
    /// Its owner has the store refuse the I/O of all others.
    pub fences: bool,
}

/// The record as it was read or written last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Its version.
    pub epoch: Epoch,
    /// Its contents.
    pub record: OwnerRecord,
}

impl OwnerRecord {
    /// A record without a history.
    pub fn of(holder: Holder) -> Self {
        Self { holder, pinned: false, failures: 0, fences: true }
    }

    /// The document with the record of a volume; none where that is no name of a volume.
    pub fn document(volume: &str) -> Option<DocumentName> {
        DocumentName::new(format!("{PREFIX}{volume}"))
    }

    /// The volume whose record this document is; none where it is another document.
    pub fn volume(document: &DocumentName) -> Option<&str> {
        document.as_str().strip_prefix(PREFIX).filter(|volume| !volume.is_empty())
    }

    /// Puts it into a body, of which it leaves all other members as they are.
    pub fn write(&self, body: &mut Body) {
        let holder = match &self.holder {
            Holder::Owned(Incarnation { node, boot }) => {
                json!({"owner": {"node": node.as_str(), "boot": boot.to_string()}})
            }
            Holder::Released(to) => json!({"released": {"to": to.as_ref().map(NodeId::as_str)}}),
            Holder::Nobody | Holder::Damaged => json!({}),
        };
        body.remove("owner");
        body.remove("released");
        if let Value::Object(holder) = holder {
            body.extend(holder);
        }
        body.insert("pinned".into(), self.pinned.into());
        body.insert("failures".into(), self.failures.into());
        body.insert("fences".into(), self.fences.into());
    }

    fn read(body: &Body) -> Result<Self, RecordError> {
        let node = |value: &Value| value.as_str().and_then(NodeId::new);
        let holder = match (body.get("owner"), body.get("released").and_then(|released| released.get("to"))) {
            (Some(owner), None) => {
                let boot = owner.get("boot").and_then(Value::as_str).and_then(BootId::parse);
                let owner = owner.get("node").and_then(node).zip(boot).ok_or(RecordError("owner"))?;
                Holder::Owned(Incarnation { node: owner.0, boot: owner.1 })
            }
            (None, Some(Value::Null)) => Holder::Released(None),
            (None, Some(to)) => Holder::Released(Some(node(to).ok_or(RecordError("released"))?)),
            _ => return Err(RecordError("owner")),
        };
        let failures =
            body.get("failures").and_then(Value::as_u64).and_then(|count| u32::try_from(count).ok());
        Ok(Self {
            holder,
            pinned: body.get("pinned").and_then(Value::as_bool).ok_or(RecordError("pinned"))?,
            failures: failures.ok_or(RecordError("failures"))?,
            // Records of a glint that knew nothing else lack it.
            fences: body.get("fences").map_or(Some(true), Value::as_bool).ok_or(RecordError("fences"))?,
        })
    }
}

impl Seen {
    /// What a document says. One that is whole and yet no owner record is as good as damaged.
    pub fn of(state: &State) -> Self {
        let record = match &state.found {
            Found::Nothing => OwnerRecord::of(Holder::Nobody),
            Found::Body(body) => OwnerRecord::read(body).unwrap_or_else(|_| OwnerRecord::of(Holder::Damaged)),
            Found::Damaged(_) => OwnerRecord::of(Holder::Damaged),
        };
        Self { epoch: Epoch(state.version), record }
    }
}

#[cfg(test)]
#[path = "record_tests.rs"]
mod tests;
