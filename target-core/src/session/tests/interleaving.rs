//! Any interleaving of several connections: commands run in the order of their numbers, and each is answered where it came.

use super::bench::{answer, good, pattern, unsolicited};
use super::group::Group;
use crate::pdu::initiator::{InitiatorPdu, ScsiCommand};
use crate::pdu::target::TargetPdu;
use crate::session::event::{Event, Leg, TaskId};
use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};

const LONGEST: u32 = 300_000;
/// FirstBurstLength as it is when nobody says a word about it.
const FIRST_BURST: u32 = 65_536;

#[derive(Clone, Copy, Debug)]
enum Kind {
    Plain,
    Read,
    /// So many bytes, the first so many unasked.
    Write(u32, u32),
}

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![
        Just(Kind::Plain),
        Just(Kind::Read),
        (1..LONGEST, any::<bool>()).prop_map(|(length, unasked)| {
            Kind::Write(length, if unasked { length.min(FIRST_BURST) } else { 0 })
        }),
    ]
}

/// The initiator's connections as they have yet to send, and the driver with what it has yet to do.
struct Play {
    group: Group,
    outbox: BTreeMap<Leg, VecDeque<InitiatorPdu>>,
    /// Where each command belongs, and whether it was answered.
    tasks: BTreeMap<u32, (Leg, bool)>,
    running: Vec<(TaskId, u32)>,
    executed: Vec<u32>,
    data: Vec<u8>,
}

impl Play {
    fn new(connections: u16, commands: &[(u8, Kind)]) -> (Self, Vec<ScsiCommand>) {
        let group = Group::of(connections);
        let mut play = Self {
            group,
            outbox: BTreeMap::new(),
            tasks: BTreeMap::new(),
            running: Vec::new(),
            executed: Vec::new(),
            data: pattern(LONGEST as usize),
        };
        let mut all = Vec::new();
        for &(leg, kind) in commands {
            let leg = Leg(u32::from(leg) % u32::from(connections));
            let command = match kind {
                Kind::Plain => play.group.lead.command(),
                Kind::Read => play.group.lead.read(20_000),
                Kind::Write(length, unasked) => {
                    ScsiCommand { is_final: unasked == 0, ..play.group.lead.write(length) }
                }
            };
            let outbox = play.outbox.entry(leg).or_default();
            outbox.push_back(command.clone().into());
            if let Kind::Write(_, unasked @ 1..) = kind {
                let data = &play.data[..unasked as usize];
                outbox.push_back(unsolicited(&command, 0, data, true).into());
            }
            play.tasks.insert(command.initiator_task_tag, (leg, false));
            all.push(command);
        }
        (play, all)
    }

    /// One connection sends what it has next.
    fn send(&mut self, choice: usize) {
        let waiting: Vec<_> =
            self.outbox.iter().filter(|(_, queue)| !queue.is_empty()).map(|(leg, _)| *leg).collect();
        let Some(leg) = waiting.get(choice % waiting.len().max(1)).copied() else { return };
        let pdu = self.outbox.get_mut(&leg).and_then(VecDeque::pop_front).expect("one that waits");
        self.group.send(leg, pdu);
    }

    fn complete(&mut self, choice: usize) {
        if self.running.is_empty() {
            return;
        }
        let (id, room) = self.running.swap_remove(choice % self.running.len());
        let data_in = self.data.get(..room as usize).unwrap_or_default().to_vec();
        self.group.lead.complete(id, good(data_in, 0));
    }

    fn look(&mut self, connections: u16) {
        while let Some(event) = self.group.lead.connection.poll_event() {
            let Event::Execute(id, command) = event else { panic!("unexpected: {event:?}") };
            assert!(command.data_out.is_empty() || self.data.starts_with(&command.data_out.to_bytes()));
            self.executed.push(command.tag.0);
            self.running.push((id, command.data_in_room));
        }
        for leg in (0..u32::from(connections)).map(Leg) {
            for pdu in self.group.heard(leg) {
                let (tag, is_over) = match &pdu {
                    TargetPdu::ReadyToTransfer(r2t) => {
                        self.outbox.entry(leg).or_default().push_back(answer(r2t, &self.data).into());
                        (r2t.initiator_task_tag, false)
                    }
                    TargetPdu::DataIn(data) => (data.initiator_task_tag, data.status.is_some()),
                    TargetPdu::ScsiResponse(response) => {
                        assert_eq!(response.status, 0, "{response:?}");
                        (response.initiator_task_tag, true)
                    }
                    other => panic!("unexpected: {other:?}"),
                };
                let (own, answered) = self.tasks.get_mut(&tag).expect("a task of ours");
                assert_eq!(*own, leg, "{pdu:?}");
                assert!(!*answered, "answered twice");
                *answered = is_over;
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn of_commands_that_come_complete(
        connections in 2..=4_u16,
        commands in proptest::collection::vec((any::<u8>(), prop_oneof![Just(Kind::Plain), Just(Kind::Read)]), 1..16),
        choices in proptest::collection::vec((any::<bool>(), any::<u16>()), 0..80),
    ) {
        let (mut play, all) = Play::new(connections, &commands);
        for (sends, choice) in choices {
            if sends { play.send(choice.into()) } else { play.complete(choice.into()) }
            play.look(connections);
            // At any time: what has run is the beginning of all, in order.
            let due: Vec<_> = all.iter().take(play.executed.len()).map(|it| it.initiator_task_tag).collect();
            prop_assert_eq!(&play.executed, &due);
        }
        finish(&mut play, connections);
        let order: Vec<_> = all.iter().map(|it| it.initiator_task_tag).collect();
        prop_assert_eq!(&play.executed, &order);
    }

    /// Writes run when their data has come, so not in order; but all run, once, with their data.
    #[test]
    fn of_commands_with_data(
        connections in 2..=4_u16,
        commands in proptest::collection::vec((any::<u8>(), kind()), 1..16),
        choices in proptest::collection::vec((any::<bool>(), any::<u16>()), 0..80),
    ) {
        let (mut play, all) = Play::new(connections, &commands);
        for (sends, choice) in choices {
            if sends { play.send(choice.into()) } else { play.complete(choice.into()) }
            play.look(connections);
        }
        finish(&mut play, connections);
        let mut ran = play.executed.clone();
        ran.sort_unstable();
        let all: Vec<_> = all.iter().map(|it| it.initiator_task_tag).collect();
        prop_assert_eq!(ran, all);
    }
}

/// Sends and completes all that is left.
fn finish(play: &mut Play, connections: u16) {
    for _ in 0..1000 {
        if play.tasks.values().all(|(_, answered)| *answered) {
            break;
        }
        play.send(0);
        play.complete(0);
        play.look(connections);
    }
    assert!(play.tasks.values().all(|(_, answered)| *answered), "{:?}", play.tasks);
    assert_eq!(play.group.lead.connection.gathered(), 0);
    assert!(!play.group.lead.connection.has_orphans());
}
