use super::*;
use crate::backend::{BackendContext, OpenOptions, open};
use crate::config::{DeviceSpec, FileIo};
use glint_target_core::lun::identity::Identity;
use glint_target_core::lun::unit::UnitConfig;

async fn unit(context: &BackendContext) -> Arc<LogicalUnit<Device>> {
    let how = OpenOptions { size: Some(1 << 20), ..OpenOptions::default() };
    let device = open(&DeviceSpec::Ram, &how, context).await.unwrap();
    let config = UnitConfig {
        identity: Identity::new("serial"),
        block_size: 512,
        read_only: false,
        removable: false,
        max_transfer: 1 << 20,
    };
    Arc::new(LogicalUnit::new(config, device))
}

#[tokio::test(start_paused = true)]
async fn a_thousand_units_look_in_turns() {
    const UNITS: usize = 1000;
    let context = BackendContext::new(Duration::from_secs(5), FileIo::Threads).unwrap();
    let mut units = Vec::new();
    for _ in 0..UNITS {
        units.push(unit(&context).await);
    }
    let target: Arc<str> = "target".into();
    let _watchers: Vec<_> = units.iter().map(|unit| SpaceWatcher::start(unit, &target, 0)).collect();
    tokio::time::sleep(Duration::from_millis(10)).await;
    let have_seen = |used: u64| {
        units.iter().filter(|unit| unit.space().seen().is_some_and(|space| space.used == used)).count()
    };
    assert_eq!(have_seen(0), UNITS, "all look at once at first");
    for turn in 1..=2 {
        for unit in &units {
            unit.device().write(turn << 18, &vec![1; 4096].into(), false).await.unwrap();
        }
        let used = units[0].device().space().await.unwrap().unwrap().used;
        let mut seen = have_seen(used);
        for _ in 0..TURNS {
            tokio::time::sleep(PAUSE / TURNS).await;
            let now = have_seen(used);
            // Units of other tests have turns in between.
            assert!(now - seen <= 2 * UNITS / TURNS as usize, "{} at once", now - seen);
            seen = now;
        }
        assert_eq!(seen, UNITS, "each has its turn");
    }
}
