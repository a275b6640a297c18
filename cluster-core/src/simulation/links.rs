//! The internal connections of a node, and what comes over them.

use super::execution::{Task, Who};
use super::node::{Linked, Message, Node};
use super::world::{MS, World, index};
use crate::forwarding::{CommandId, Refusal, Reply, Verdict};
use crate::membership::Incarnation;
use crate::ownership::{Class, Input, Route};
use std::time::Instant;

impl World {
    pub fn link_up(&mut self, node: &mut Node, now: Instant, peer: Incarnation, count: u64) {
        let other = index(&peer);
        if self.links[&(node.at.min(other), node.at.max(other))].count != count
            || node.lease.term(now).is_none()
        {
            return self.disconnect(node.at, other, 100 * MS);
        }
        // The end of the one before may be heard of later.
        if let Some(before) = node.links.get(&other).map(|link| link.count) {
            self.link_cut(node, now, other, before);
        }
        node.peers.watch(peer.clone(), now);
        if let Some(peer) = node.peers.get_mut(&peer) {
            peer.cut = None;
        }
        node.links.insert(other, Linked { peer, count, heard: now });
        self.send(node.at, other, count, Message::Time(self.stamp(node.at)));
    }

    pub fn link_cut(&mut self, node: &mut Node, now: Instant, other: usize, count: u64) {
        if node.links.get(&other).is_none_or(|link| link.count != count) {
            return;
        }
        let Some(link) = node.links.remove(&other) else { return };
        if let Some(peer) = node.peers.get_mut(&link.peer) {
            peer.cut = Some(now);
        }
        node.origin.cut(&link.peer);
        if self.links[&(node.at.min(other), node.at.max(other))].count == count {
            self.disconnect(node.at, other, 100 * MS);
        }
    }

    pub fn send_peer(&mut self, node: &Node, peer: &Incarnation, message: Message) {
        let other = index(peer);
        if let Some(link) = node.links.get(&other).filter(|link| link.peer == *peer) {
            self.send(node.at, other, link.count, message);
        }
    }

    pub fn message(&mut self, node: &mut Node, now: Instant, peer: &Incarnation, message: Message) {
        if self.is_traced && !matches!(message, Message::Time(_)) {
            eprintln!("{:>9} n{}.{} from {peer}: {message:?}", self.now, node.at, node.boot);
        }
        match message {
            Message::Time(stamp) => node.origin.told_time(now, peer, stamp),
            Message::Look => self.drive(node, Input::Look),
            Message::Reply(sequence, epoch, reply) => {
                let mut orders = Vec::new();
                let is_stale = node.origin.reply(now, CommandId(sequence), epoch, reply, &mut orders);
                self.obey(node, orders);
                if is_stale {
                    self.drive(node, Input::Look);
                }
            }
            Message::Request(request, command) => {
                let here = node.machine.route(now, &node.view(), Class::Medium);
                let is_open = here == Route::Here(request.epoch);
                let reply = match node.executor.offer(self.stamp(node.at), is_open, peer, &request) {
                    Verdict::Begin => {
                        let who = Who::Peer(peer.clone(), request.sequence);
                        return self.begin(node, Task::new(who, command, request.epoch));
                    }
                    Verdict::UnderWay | Verdict::Ignore => return,
                    Verdict::Again(outcome) => Reply::Done(outcome),
                    Verdict::Refuse(refusal) => {
                        // It is thought to be here, and it is not: taken again for those who wait.
                        if refusal == Refusal::NotOwner {
                            self.drive(node, Input::Wanted);
                        }
                        Reply::Refused(refusal)
                    }
                };
                self.send_peer(node, peer, Message::Reply(request.sequence, request.epoch, reply));
            }
        }
    }
}
