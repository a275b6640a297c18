//! Targets and their logical units, from `[[target]]` sections.

use super::chap::read_chap;
use super::device::DeviceSpec;
use super::endpoint::Endpoint;
use super::fault::Placed;
use super::model::{LunConfig, Provisioning, RedirectConfig, TargetConfig};
use super::name::{InitiatorPattern, IscsiName, Serial, TargetLabel};
use super::network::Network;
use super::reader::Section;
use super::throttle::LimitsDraft;
use super::units::ByteSize;
use glint_target_core::login::catalog::{AuthPolicy, InitiatorList};
use glint_target_core::lun::space::LowSpace;

/// Largest number that the flat space addressing method holds (SAM-5 4.7.7.3).
const MAX_LUN: u16 = 0x3fff;

/// Largest physical block that initiators are told of: Linux takes it as the smallest unit to write.
const MAX_PHYSICAL_BLOCK: u64 = 64 << 10;

/// A target as it was read, with the places of its parts for later findings.
#[derive(Debug)]
pub(super) struct TargetDraft {
    pub(super) target: Placed<TargetConfig>,
    /// One for each LUN of the target.
    pub(super) lun_places: Vec<super::fault::Place>,
}

/// `BASE:NAME`.
pub(super) fn derived_iqn(base: &IscsiName, name: &TargetLabel) -> Result<IscsiName, String> {
    format!("{base}:{name}").parse()
}

/// Reads one `[[target]]`; `None` where a fault was noted that leaves no target to speak of.
pub(super) fn read_target(mut section: Section<'_>, base: &IscsiName) -> Option<TargetDraft> {
    let name = section.required::<TargetLabel>("name", "\"disk1\"");
    let given = section.value::<IscsiName>("iqn");
    let iqn = match (given, &name) {
        (Some(iqn), _) => Some(iqn),
        (None, Some(name)) if !section.has("iqn") => {
            derived_iqn(base, name).map_err(|fault| section.fault_at("name", fault)).ok()
        }
        _ => None,
    };
    let alias = section.value::<String>("alias");
    if alias.as_ref().is_some_and(|alias| alias.is_empty() || alias.len() > 255) {
        section.fault_at("alias", "`alias` has to be 1 to 255 bytes long");
    }
    // An empty list would admit nobody, or be taken for one that admits all.
    let initiators = section.filled_list::<InitiatorPattern>("initiators");
    let networks = section.filled_list::<Network>("networks");
    let groups = section.filled_list::<u16>("groups");
    let redirect = section.section("redirect").map(read_redirect);
    let auth = section.section("chap").map(read_chap).unwrap_or(AuthPolicy::Open);
    let mut luns: Vec<Placed<LunConfig>> = read_luns(&mut section);
    if redirect.is_some() {
        // They may stay in the configuration, so that a move is one line; but another node has them open now.
        luns.clear();
    }
    let place = section.place();
    section.finish();
    let lun_places = luns.iter().map(|lun| lun.place.clone()).collect();
    let target = TargetConfig {
        name: name?,
        iqn: iqn?,
        alias,
        initiators: InitiatorList(initiators.into_iter().map(|pattern| pattern.value.0).collect()),
        networks: networks.into_iter().map(|network| network.value.0).collect(),
        groups: groups.into_iter().map(|group| group.value).collect(),
        auth,
        // Where one was given and could not be read there is a fault.
        redirect: redirect.flatten(),
        luns: luns.into_iter().map(|lun| lun.value).collect(),
    };
    Some(TargetDraft { target: Placed { value: target, place }, lun_places })
}

/// Reads `[target.redirect]`.
fn read_redirect(mut section: Section<'_>) -> Option<RedirectConfig> {
    let to = section.required::<Endpoint>("to", "\"storage2.example.net:3260\"");
    let permanent = section.value_or("permanent", false);
    if let Some(fault) = to.as_ref().and_then(Endpoint::why_not_told) {
        section.fault_at("to", format!("`to`: {fault}"));
    }
    section.finish();
    to.map(|to| RedirectConfig { to, permanent })
}

fn read_luns(section: &mut Section<'_>) -> Vec<Placed<LunConfig>> {
    let sections = section.sections("lun");
    if sections.is_empty() && !section.has("lun") && !section.has("redirect") {
        section.fault(section.place(), "this target has no logical unit; add [[target.lun]] with a `device`");
    }
    let mut luns: Vec<Placed<LunConfig>> = Vec::new();
    for lun in sections {
        let place = lun.place();
        let Some(value) = read_lun(lun) else { continue };
        if luns.iter().any(|other| other.value.number == value.number) {
            section.fault(
                place.clone(),
                format!("this target has LUN {} already; give each its `number`", value.number),
            );
        }
        luns.push(Placed { value, place });
    }
    luns
}

fn read_lun(mut section: Section<'_>) -> Option<LunConfig> {
    let number = section.bounded::<u16>("number", 0, 0..=MAX_LUN);
    let device = section.required::<DeviceSpec>("device", "\"file:/srv/disk.img\"");
    let draft = LunDraft {
        number,
        size: section.value("size"),
        preallocate: section.value_or("preallocate", false),
        grow: section.value_or("grow", false),
        shrink: section.value_or("shrink", false),
        block_size: section.value("block_size"),
        physical_block_size: section.value("physical_block_size"),
        low_space: section.value("low_space"),
        limits: LimitsDraft::read(&mut section),
        read_only: section.value_or("read_only", false),
        removable: section.value_or("removable", false),
        provisioning: section.value_or("provisioning", Provisioning::default()),
        serial: section.value("serial"),
        // A size that could not be read has its fault already.
        size_given: section.has("size"),
    };
    let lun = device.and_then(|device| draft.finish(device, |key, message| section.fault_at(key, message)));
    section.finish();
    lun
}

/// A logical unit's keys before they are checked against each other; the same for file and flags.
#[derive(Debug, Default)]
pub(super) struct LunDraft {
    pub(super) number: u16,
    pub(super) size: Option<ByteSize>,
    pub(super) size_given: bool,
    pub(super) preallocate: bool,
    pub(super) grow: bool,
    pub(super) shrink: bool,
    pub(super) block_size: Option<ByteSize>,
    pub(super) physical_block_size: Option<ByteSize>,
    pub(super) low_space: Option<LowSpace>,
    pub(super) limits: LimitsDraft,
    pub(super) read_only: bool,
    pub(super) removable: bool,
    pub(super) provisioning: Provisioning,
    pub(super) serial: Option<Serial>,
}

impl LunDraft {
    /// The unit, if its parts agree; `fault` is told key and message of each that does not.
    pub(super) fn finish(self, device: DeviceSpec, mut fault: impl FnMut(&str, String)) -> Option<LunConfig> {
        let mut good = true;
        let mut fault = |key: &str, message: String| {
            good = false;
            fault(key, message);
        };
        let block_size = match self.block_size.unwrap_or(ByteSize(512)) {
            ByteSize(512) => 512,
            ByteSize(4096) => 4096,
            other => {
                fault("block_size", format!("`block_size` is 512 or 4096, not {}", other.0));
                512
            }
        };
        match self.size {
            Some(ByteSize(size)) if size == 0 || size > i64::MAX as u64 => {
                fault("size", "`size` has to be more than nothing and less than 8EiB".into());
            }
            Some(ByteSize(size)) if size % u64::from(block_size) != 0 => {
                fault(
                    "size",
                    format!("`size` of {size} bytes is no multiple of the block size, {block_size}"),
                );
            }
            None if !self.size_given => {
                if device.needs_size() {
                    fault("device", format!("{device} needs a size; add for example: size = \"1GiB\""));
                }
                for (key, given) in
                    [("grow", self.grow), ("shrink", self.shrink), ("preallocate", self.preallocate)]
                {
                    if given {
                        fault(key, format!("`{key}` does nothing without `size`"));
                    }
                }
            }
            _ => {}
        }
        if self.read_only && self.grow {
            fault("grow", "a read-only unit cannot grow; drop `grow` or `read_only`".into());
        }
        if self.read_only && self.shrink {
            fault("shrink", "a read-only unit cannot shrink; drop `shrink` or `read_only`".into());
        }
        let physical_block_size = self.physical_block_size.map(|size| size.0);
        let fits =
            |size: u64| size.is_power_of_two() && (block_size.into()..=MAX_PHYSICAL_BLOCK).contains(&size);
        if physical_block_size.is_some_and(|size| !fits(size)) {
            fault(
                "physical_block_size",
                format!(
                    "`physical_block_size` is a power of two from the block size, {block_size}, to {}",
                    ByteSize(MAX_PHYSICAL_BLOCK)
                ),
            );
        }
        if self.low_space.is_some() && self.provisioning == Provisioning::Full {
            fault("low_space", "`low_space` does nothing for a unit that is fully provisioned".into());
        }
        let limits = self.limits.finish(&mut fault);
        good.then_some(LunConfig {
            number: self.number,
            device,
            size: self.size.map(|size| size.0),
            preallocate: self.preallocate,
            grow: self.grow,
            shrink: self.shrink,
            block_size,
            physical_block_size: physical_block_size.and_then(|size| u32::try_from(size).ok()),
            low_space: self.low_space,
            limits,
            read_only: self.read_only,
            removable: self.removable,
            provisioning: self.provisioning,
            serial: self.serial,
        })
    }
}
