//! Sequences of everything that concerns reservations, against the oracle: how each command ends, what READ KEYS, READ RESERVATION, READ
//! FULL STATUS and REPORT CAPABILITIES tell, who is told what, and who may read and write.

use super::oracle::{Oracle, Out, PORTS, Told, Verdict, Who};
use crate::lun::memory::MemoryError;
use crate::lun::target::TargetDevice;
use crate::lun::unit::LogicalUnit;
use crate::scsi::command::{
    DeviceServer, Nexus, NexusId, Outcome, Response, TaskManagement, TaskManagementOutcome,
};
use crate::scsi::fields::Fields;
use crate::scsi::lun_address::LunAddress;
use crate::scsi::sense::Status;
use crate::testing::{Bench, RamDevice, RamMemory, config, finish};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

const INITIATORS: u8 = 3;

#[derive(Clone, Debug)]
enum Step {
    Out {
        out: Out,
        /// RESERVATION KEY is the one that the nexus has.
        own_key: bool,
    },
    Login(Who),
    Logout(Who),
    Reset {
        by: Who,
        logical_unit: bool,
    },
    Restart,
    StoreFails(bool),
    Legacy {
        who: Who,
        reserve: bool,
    },
}

fn who() -> impl Strategy<Value = Who> {
    (0..INITIATORS, prop_oneof![3 => Just(1_u16), 1 => Just(2)])
}

fn step() -> impl Strategy<Value = Step> {
    let kind = prop_oneof![
        12 => prop_oneof![Just(1_u8), Just(3), Just(5), Just(6), Just(7), Just(8)],
        1 => any::<u8>(),
    ];
    // Registering most often, for without it there is nothing to be seen.
    let action = prop_oneof![
        4 => Just(0_u8), 3 => Just(6), 4 => Just(1), 2 => Just(2), 1 => Just(3), 3 => Just(4), 1 => Just(5), 2 => Just(7),
    ];
    let flags = (any::<bool>(), prop::bool::weighted(0.2), any::<bool>(), prop::bool::weighted(0.8));
    let listed = prop::option::weighted(0.15, prop::collection::vec(0..INITIATORS, 0..3));
    let out = (who(), action, (0..4_u64, 0..4_u64), kind, flags, listed, who()).prop_map(
        |(who, service_action, (key, second_key), scope_and_type, flags, listed, to)| {
            let (aptpl, all_ports, unregister, own_key) = flags;
            let listed = listed.filter(|_| service_action == 0);
            let out = Out {
                who,
                service_action,
                key,
                second_key,
                scope_and_type,
                aptpl,
                all_ports,
                listed,
                to,
                unregister,
            };
            Step::Out { out, own_key }
        },
    );
    prop_oneof![
        24 => out,
        2 => who().prop_map(Step::Login),
        2 => who().prop_map(Step::Logout),
        1 => (who(), any::<bool>()).prop_map(|(by, logical_unit)| Step::Reset { by, logical_unit }),
        1 => Just(Step::Restart),
        1 => prop::bool::weighted(0.3).prop_map(Step::StoreFails),
        2 => (who(), any::<bool>()).prop_map(|(who, reserve)| Step::Legacy { who, reserve }),
    ]
}

fn name(initiator: u8) -> String {
    format!("iqn.2026-12.io.example:initiator{initiator}")
}

/// As initiators write it: format 01b, or 00b where `port` is not asked for.
fn transport_id(initiator: u8) -> Vec<u8> {
    let mut id = vec![0x45, 0, 0, 0];
    // In capitals, for names are the same in any case.
    id.extend_from_slice(name(initiator).to_uppercase().as_bytes());
    id.extend_from_slice(format!(",i,0x8000000000{initiator:02X}\0").as_bytes());
    id.resize(id.len().next_multiple_of(4), 0);
    id[3] = id.len() as u8 - 4;
    id
}

fn parameter_list(out: &Out) -> Vec<u8> {
    let mut list = [out.key.to_be_bytes(), out.second_key.to_be_bytes()].concat();
    if out.service_action == 7 {
        list.extend_from_slice(&[0, u8::from(out.unregister) << 1 | u8::from(out.aptpl)]);
        list.extend_from_slice(&out.to.1.to_be_bytes());
        let id = transport_id(out.to.0);
        list.extend_from_slice(&(id.len() as u32).to_be_bytes());
        list.extend_from_slice(&id);
        return list;
    }
    let spec_i_pt = u8::from(out.listed.is_some()) << 3;
    let flags = spec_i_pt | u8::from(out.all_ports) << 2 | u8::from(out.aptpl);
    list.extend_from_slice(&[0, 0, 0, 0, flags, 0, 0, 0]);
    if let Some(listed) = &out.listed {
        let ids: Vec<u8> = listed.iter().flat_map(|initiator| transport_id(*initiator)).collect();
        list.extend_from_slice(&(ids.len() as u32).to_be_bytes());
        list.extend_from_slice(&ids);
    }
    list
}

/// The implementation, behind its commands.
struct World {
    target: TargetDevice<RamDevice>,
    unit: Arc<LogicalUnit<RamDevice>>,
    memory: Option<Arc<RamMemory>>,
    nexuses: BTreeMap<Who, Arc<Nexus>>,
    next_id: u64,
}

impl World {
    fn new(memory: Option<Arc<RamMemory>>) -> Self {
        let mut unit = LogicalUnit::new(config(512), RamDevice::new(1 << 16));
        if let Some(memory) = &memory {
            unit = unit.with_memory(memory.clone());
        }
        let unit = Arc::new(unit);
        // A unit whose memory cannot be read is not served: that is tested elsewhere.
        let error = memory.as_ref().and_then(|memory| memory.error.lock().unwrap().take());
        finish(unit.recall()).unwrap();
        if let Some(memory) = &memory {
            *memory.error.lock().unwrap() = error;
        }
        let target = TargetDevice::new("iqn.2026-12.io.glint:demo".into());
        target.set_ports(PORTS.map(|port| (port, port)));
        target.add_unit(0, unit.clone());
        Self { target, unit, memory, nexuses: BTreeMap::new(), next_id: 1 }
    }

    fn login(&mut self, who: Who) {
        if self.nexuses.contains_key(&who) {
            return;
        }
        let nexus = Arc::new(Nexus {
            id: NexusId(self.next_id),
            initiator_name: name(who.0),
            isid: [0x80, 0, 0, 0, 0, who.0],
            target_name: "iqn.2026-12.io.glint:demo".into(),
            portal_group_tag: who.1,
            relative_port: who.1,
            proofs: Vec::new(),
        });
        self.next_id += 1;
        self.target.nexus_established(&nexus);
        self.nexuses.insert(who, nexus);
        self.attentions();
    }

    fn logout(&mut self, who: Who) {
        if let Some(nexus) = self.nexuses.remove(&who) {
            self.target.nexus_lost(&nexus);
        }
    }

    fn run(&self, who: Who, cdb: &[u8], data: &[u8]) -> Response {
        match finish(self.target.execute(&self.nexuses[&who], Bench::command(cdb, data))) {
            Outcome::Done(response) => response,
            Outcome::Aborted => panic!("aborted"),
        }
    }

    fn verdict(&self, who: Who, cdb: &[u8], data: &[u8]) -> Verdict {
        let response = self.run(who, cdb, data);
        match (response.status, response.sense_value) {
            (Status::Good, None) => Verdict::Good,
            (Status::ReservationConflict, None) => Verdict::Conflict,
            (Status::CheckCondition, Some(sense)) => {
                Verdict::Check(sense.key as u8, sense.asc.0, sense.asc.1)
            }
            other => panic!("{other:?}"),
        }
    }

    /// All that is to be told, by nexus; it is taken thereby.
    fn attentions(&self) -> Vec<Told> {
        let mut all = Vec::new();
        for (who, nexus) in &self.nexuses {
            while let Some(condition) = self.unit.attentions().take(nexus.id, |_| true) {
                all.push((*who, (condition.0, condition.1)));
            }
        }
        all
    }

    fn persistent_in(&self, who: Who, service_action: u8) -> Vec<u8> {
        let response = self.run(who, &[0x5e, service_action, 0, 0, 0, 0, 0, 0xff, 0xff, 0], &[]);
        assert_eq!(response.status, Status::Good);
        response.data_in.to_bytes().to_vec()
    }
}

/// Who: key, holder and type, as READ FULL STATUS tells it.
type FullStatus = BTreeMap<(u16, String), (u64, bool, u8)>;

fn full_status(data: &[u8]) -> FullStatus {
    let mut rest = &data[8..];
    let mut all = BTreeMap::new();
    while !rest.is_empty() {
        let fields = Fields(rest);
        let length = fields.u32(20) as usize;
        let id = &rest[24..24 + length];
        assert_eq!((id[0], length % 4, usize::from(Fields(id).u16(2))), (0x45, 0, length - 4));
        assert_eq!((fields.u32(8), fields.u8(12) & !1, fields.u32(14)), (0, 0, 0));
        let text = id[4..].split(|byte| *byte == 0).next().unwrap();
        let who = (fields.u16(18), String::from_utf8(text.to_vec()).unwrap());
        assert!(all.insert(who, (fields.u64(0), fields.bit(12, 0), fields.u8(13))).is_none());
        rest = &rest[24 + length..];
    }
    all
}

/// All that can be seen from outside.
fn compare(world: &World, oracle: &Oracle) -> Result<(), TestCaseError> {
    for who in world.nexuses.keys() {
        let (reads, writes) = oracle.access(*who);
        let verdict = |allowed| if allowed { Verdict::Good } else { Verdict::Conflict };
        let read = [0x28, 0, 0, 0, 0, 0, 0, 0, 1, 0];
        let write = [0x2a, 0, 0, 0, 0, 0, 0, 0, 1, 0];
        prop_assert_eq!(world.verdict(*who, &read, &[]), verdict(reads), "read of {:?}", who);
        prop_assert_eq!(world.verdict(*who, &write, &[7; 512]), verdict(writes), "write of {:?}", who);
        let others_legacy = oracle.legacy.is_some_and(|holder| holder != *who);
        prop_assert_eq!(world.verdict(*who, &[0; 6], &[]), verdict(!others_legacy));
    }
    let Some(who) = world.nexuses.keys().next().copied() else { return Ok(()) };
    if oracle.legacy.is_some() {
        for service_action in 0..4 {
            let cdb = [0x5e, service_action, 0, 0, 0, 0, 0, 0xff, 0xff, 0];
            prop_assert_eq!(world.verdict(who, &cdb, &[]), Verdict::Conflict);
        }
        return Ok(());
    }
    let [keys, reservation, capabilities, status] =
        [0, 1, 2, 3].map(|action| world.persistent_in(who, action));
    for data in [&keys, &reservation, &status] {
        prop_assert_eq!(Fields(data).u32(0), oracle.generation);
        prop_assert_eq!(Fields(data).u32(4) as usize, data.len() - 8);
    }
    let mut told: Vec<u64> = keys[8..].chunks_exact(8).map(|key| Fields(key).u64(0)).collect();
    let mut expected: Vec<u64> = oracle.registered.iter().map(|(_, key)| *key).collect();
    told.sort_unstable();
    expected.sort_unstable();
    prop_assert_eq!(told, expected);

    let told = (reservation.len() > 8).then(|| (Fields(&reservation).u64(8), reservation[21]));
    prop_assert_eq!(told, oracle.reservation());

    let [persistent, active] = [u8::from(oracle.has_memory), u8::from(oracle.aptpl)];
    prop_assert_eq!(&capabilities[..], &[0, 8, 0x1c | persistent, 0x90 | active, 0xea, 0x01, 0, 0]);

    let kind = oracle.reserved.map_or(0, |(kind, _)| kind);
    let expected: FullStatus = oracle
        .registered
        .iter()
        .map(|(who, key)| {
            let holds = oracle.holds(*who);
            let initiator = format!("{},i,0x8000000000{:02x}", name(who.0), who.0);
            ((who.1, initiator), (*key, holds, if holds { kind } else { 0 }))
        })
        .collect();
    prop_assert_eq!(full_status(&status), expected);
    Ok(())
}

fn perform(step: &Step, world: &mut World, oracle: &mut Oracle) -> Result<(), TestCaseError> {
    match step {
        Step::Out { out, own_key } => {
            world.login(out.who);
            let mut out = out.clone();
            if *own_key {
                out.key =
                    oracle.registered.iter().find(|(who, _)| *who == out.who).map_or(0, |(_, key)| *key);
            }
            let list = parameter_list(&out);
            let mut cdb = [0x5f, out.service_action, out.scope_and_type, 0, 0, 0, 0, 0, 0, 0];
            cdb[5..9].copy_from_slice(&(list.len() as u32).to_be_bytes());
            let (verdict, mut told) = oracle.out(&out);
            prop_assert_eq!(world.verdict(out.who, &cdb, &list), verdict, "{:?}", &out);
            // Those who are not there are not told, and nobody twice.
            told.retain(|(who, _)| world.nexuses.contains_key(who));
            told.sort_unstable();
            told.dedup();
            let mut heard = world.attentions();
            heard.sort_unstable();
            prop_assert_eq!(heard, told, "{:?}", &out);
        }
        Step::Login(who) => world.login(*who),
        Step::Logout(who) => {
            world.logout(*who);
            oracle.legacy.take_if(|holder| *holder == *who);
        }
        Step::Reset { by, logical_unit } => {
            world.login(*by);
            let (function, condition) = match logical_unit {
                true => (TaskManagement::LogicalUnitReset { lun: LunAddress::from_number(0) }, (0x29, 3)),
                false => (TaskManagement::TargetWarmReset, (0x29, 2)),
            };
            let managed = finish(world.target.manage(&world.nexuses[by], function));
            prop_assert_eq!(managed, TaskManagementOutcome::Complete);
            let everyone: Vec<_> = world.nexuses.keys().map(|who| (*who, condition)).collect();
            prop_assert_eq!(world.attentions(), everyone);
            oracle.legacy = None;
        }
        Step::Restart => {
            if oracle.store_fails {
                // A unit that cannot recall whom it has to keep out is not served; here the store is mended then.
                let memory = world.memory.clone().unwrap();
                let unit = LogicalUnit::new(config(512), RamDevice::new(1 << 16)).with_memory(memory.clone());
                prop_assert!(finish(Arc::new(unit).recall()).is_err());
                *memory.error.lock().unwrap() = None;
                oracle.store_fails = false;
            }
            let there: Vec<Who> = world.nexuses.keys().copied().collect();
            *world = World::new(world.memory.take());
            there.into_iter().for_each(|who| world.login(who));
            oracle.restart();
        }
        Step::StoreFails(fails) => {
            oracle.store_fails = *fails && oracle.has_memory;
            if let Some(memory) = &world.memory {
                *memory.error.lock().unwrap() = fails.then(|| MemoryError::Store("told to fail".into()));
            }
        }
        Step::Legacy { who, reserve } => {
            world.login(*who);
            let cdb = [if *reserve { 0x16 } else { 0x17 }, 0, 0, 0, 0, 0];
            prop_assert_eq!(world.verdict(*who, &cdb, &[]), oracle.legacy(*who, *reserve));
            prop_assert_eq!(world.attentions(), []);
        }
    }
    compare(world, oracle)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn reservations_are_what_the_tables_say(
        has_memory in prop::bool::weighted(0.8),
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let mut world = World::new(has_memory.then(Arc::default));
        let mut oracle = Oracle { has_memory, ..Oracle::default() };
        world.login((0, 1));
        for step in &steps {
            perform(step, &mut world, &mut oracle)?;
        }
    }
}
