//! Where commands of a unit go, as the node's engine has found last.

use glint_cluster_core::ownership::{Class, Reason, Route};

/// By class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Routes {
    /// Of commands that never move ownership.
    pub probe: Route,
    /// Of all others.
    pub medium: Route,
}

impl Default for Routes {
    fn default() -> Self {
        Self { probe: Route::Wait, medium: Route::Wait }
    }
}

impl Routes {
    /// Where a command goes. A node that may not answer sends nothing anywhere.
    pub fn of(&self, class: Class, may_answer: bool) -> Route {
        match class {
            _ if !may_answer => Route::NotReady(Reason::Unavailable),
            Class::Probe => self.probe.clone(),
            Class::Medium => self.medium.clone(),
        }
    }
}
