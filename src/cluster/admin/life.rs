//! Who lives: heartbeats are read until each was seen to change, or to stay as it is for as long as nodes wait for one.

use super::Admin;
use futures_util::future::join_all;
use glint_cluster_core::membership::{Incarnation, Judgement, MOST_BEAT_BYTES, Watch};
use glint_cluster_core::store::{Directory, DirectoryError};
use std::collections::BTreeMap;

impl<D: Directory> Admin<D> {
    /// What to think of each of them. [`Judgement::Unknown`]: its heartbeat could not be read.
    pub(super) async fn judge(
        &self,
        incarnations: impl IntoIterator<Item = Incarnation>,
    ) -> BTreeMap<Incarnation, Judgement> {
        let directory = self.documents.directory();
        let watched = incarnations.into_iter().map(|incarnation| (incarnation, Watch::new(self.timing)));
        let mut watched: BTreeMap<_, _> = watched.collect();
        // A reading that fails says nothing, so there has to be an end of them.
        let end = directory.now() + self.timing.dead * 2;
        loop {
            let open = watched.iter_mut().filter(|(_, watch)| watch.judgement() == Judgement::Unknown);
            let readings = open.map(|(incarnation, watch)| async move {
                let began = directory.now();
                let file = match directory.read(&incarnation.beat_file(), MOST_BEAT_BYTES).await {
                    Ok(file) => Some(file),
                    Err(DirectoryError::Missing) => None,
                    Err(_) => return,
                };
                watch.read(began, directory.now(), file);
            });
            join_all(readings).await;
            let is_told = watched.values().all(|watch| watch.judgement() != Judgement::Unknown);
            if is_told || directory.now() >= end {
                break;
            }
            tokio::time::sleep(self.timing.beat / 4).await;
        }
        watched.into_iter().map(|(incarnation, watch)| (incarnation, watch.judgement())).collect()
    }
}
