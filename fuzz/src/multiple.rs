//! A session of several connections (RFC 7143 §4.2.1, §6.3.4): they join, go and come again while commands are under way. Each has a
//! model of its own, which sees to it that a command is answered where it came; what goes for the session is checked here.

use crate::connection::driver::Driver;
use crate::connection::initiator::{FIRST_STAT_SN, Initiator};
use crate::connection::model::Model;
use crate::lab::{Lab, entropy};
use crate::program::Program;
use bytes::BytesMut;
use glint_target_core::login::parameters::Offer;
use glint_target_core::pdu::fields::Serial;
use glint_target_core::pdu::target::Numbering;
use glint_target_core::scsi::command::{Command, TaskManagement};
use glint_target_core::session::connection::{Connection, ConnectionConfig};
use glint_target_core::session::event::{BindOutcome, CloseReason, Event, Leg};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Input beyond this length is not looked at.
const MOST_INPUT: usize = 4096;
/// Connections at a time.
const MOST_LINES: usize = 4;
/// Timers that go off after the end of the input until the session must have ended.
const MOST_TIMERS: usize = 400;
/// Names the session.
const TSIH: u16 = 0x7001;

/// What a program came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Commands that came to the driver.
    pub executed: usize,
    /// Connections that joined the session.
    pub joined: usize,
    /// Connections that have gone while others went on.
    pub parted: usize,
    /// Task management functions that were answered.
    pub managed: usize,
}

/// Takes: four bytes of configuration and two of login, then operations of one byte each with their arguments, as in [`Bench::step`].
pub fn multiple(data: &[u8]) -> Tally {
    let mut program = Program::new(&data[..data.len().min(MOST_INPUT)]);
    let mut bench = Bench::new(&mut program);
    while !program.is_over() && !bench.lines.is_empty() {
        bench.step(&mut program);
    }
    bench.finish();
    Tally { executed: bench.driver.executed(), ..bench.tally }
}

/// One connection.
struct Line {
    leg: Leg,
    input: BytesMut,
    model: Model,
    /// The highest ExpStatSN that was sent.
    acknowledged: Option<Serial>,
}

struct Bench {
    config: Arc<ConnectionConfig>,
    catalog: Arc<Lab>,
    connection: Connection,
    now: Instant,
    initiator: Initiator,
    driver: Driver,
    lines: Vec<Line>,
    /// Of all answers that were heard before: later ones don't go back.
    heard: Option<Numbering>,
    /// CmdSN of the last command that had to keep the order.
    last_turn: Option<Serial>,
    is_ordered: bool,
    tally: Tally,
}

impl Bench {
    fn new(program: &mut Program<'_>) -> Self {
        let flags = program.byte();
        let config = Arc::new(ConnectionConfig {
            offer: Offer {
                max_recv_data_segment_length: 8192,
                max_outstanding_r2t: program.choose(&[4, 1, 2]),
                max_connections: MOST_LINES as u16,
                initial_r2t: flags & 8 != 0,
                immediate_data: flags & 16 == 0,
                ..Offer::default()
            },
            login_timeout: Duration::from_secs(15),
            nop_interval: Duration::from_secs(10),
            nop_timeout: Duration::from_secs(5),
            logout_timeout: Duration::from_secs(10),
            command_window: program.choose(&[32, 4, 2, 8]),
            max_command_bytes: 70_000,
            data_out_budget: program.choose(&[1 << 20, 0, 6000]),
            entropy,
        });
        let catalog = Arc::new(Lab::new(false));
        let now = Instant::now();
        let mut initiator = Initiator::new();
        let mut driver = Driver::default();
        let mut connection = Connection::new(Arc::clone(&config), catalog.clone(), now);
        let (how, lengths) = (program.byte() & !32, program.byte());
        let mut login = initiator.login(&mut Program::new(&[how, lengths]), 0, 1);
        connection.receive(Leg::FIRST, now, &mut login);
        driver.bind(&mut connection, now, true);
        assert!(connection.session().is_some(), "an ordinary login succeeds");
        let mut bench = Self {
            config,
            catalog,
            connection,
            now,
            initiator,
            driver,
            lines: Vec::new(),
            heard: None,
            last_turn: None,
            is_ordered: true,
            tally: Tally::default(),
        };
        bench.listen(Leg::FIRST);
        bench
    }

    fn listen(&mut self, leg: Leg) {
        let model = Model::new(self.config.command_window, self.config.max_command_bytes);
        self.lines.push(Line { leg, input: BytesMut::new(), model, acknowledged: None });
        self.settle();
    }

    /// One operation: its kind in the low bits of a byte, flags in the three high ones, then its arguments.
    fn step(&mut self, program: &mut Program<'_>) {
        let operation = program.byte();
        let flags = operation >> 5;
        match operation & 0x1f {
            kind @ 0..16 => self.say(kind, flags, program),
            16..20 => self.driver.complete(&mut self.connection, self.now, program),
            20..22 => self.manage(program),
            22 => self.wait(Duration::from_secs(program.choose(&[1, 4, 6, 11, 60]))),
            23 => {
                let seconds = u16::from(program.byte());
                if let Some(at) = program.index(self.lines.len()) {
                    self.connection.request_logout(self.lines[at].leg, self.now, seconds);
                }
            }
            24..27 => self.join(program, flags),
            27 => {
                if let Some(at) = program.index(self.lines.len()).filter(|_| self.lines.len() > 1) {
                    self.part(at);
                }
            }
            _ => self.driver.finish_all(&mut self.connection, self.now),
        }
        self.settle();
    }

    /// A PDU on one of the connections.
    fn say(&mut self, kind: u8, flags: u8, program: &mut Program<'_>) {
        let Some(at) = program.index(self.lines.len()) else { return };
        // Data may come where its command did not.
        let of = match kind {
            7 => program.index(self.lines.len()).unwrap_or(at),
            _ => at,
        };
        self.turn_to(at);
        let Self { initiator, lines, .. } = self;
        let model = &mut lines[of].model;
        let due = model.requests();
        let sent = match kind {
            0..4 => initiator.command(program, flags, model),
            7 => initiator.data_out(program, flags & !1, model),
            4..7 => initiator.data_out(program, flags, model),
            8 | 9 => initiator.task_management(program, flags),
            10 => initiator.nop_out(program, flags),
            11 => initiator.text(program, flags),
            12 => initiator.logout(program, flags),
            13 => initiator.damaged(program, flags, model),
            14 => {
                lines.iter_mut().for_each(|line| line.model.is_honest = false);
                initiator.again()
            }
            // A sign of life that says what was heard.
            _ => {
                lines[at].acknowledged = lines[at].model.exp_stat_sn();
                self.turn_to(at);
                self.initiator.nop_out(&mut Program::new(&[0x80]), 1 | 4)
            }
        };
        if of != at {
            // What belongs elsewhere must not get in there, but here it may meet a command of the same tag.
            self.lines[of].model.restore(due);
            self.lines[at].model.is_honest = false;
        }
        let Self { connection, lines, now, .. } = self;
        let line = &mut lines[at];
        line.model.sent(&sent);
        line.input.extend_from_slice(&sent);
        connection.receive(line.leg, *now, &mut line.input);
    }

    /// What the initiator says next is meant for this connection.
    fn turn_to(&mut self, at: usize) {
        let line = &self.lines[at];
        if let Some(agreed) = self.connection.parameters(line.leg) {
            self.initiator.logged_in(agreed);
        }
        self.initiator.acknowledges(line.acknowledged.unwrap_or(FIRST_STAT_SN));
    }

    /// Ends a task management function. One that ends many tasks is not answered as long as answers that were sent before on other
    /// connections may still be on their way (RFC 7143 §4.2.2.3.3).
    fn manage(&mut self, program: &mut Program<'_>) {
        let before: Vec<_> = self.lines.iter().map(|line| line.model.managed).collect();
        let Some(function) = self.driver.managed(&mut self.connection, self.now, program) else { return };
        let legs: Vec<_> = self.lines.iter().map(|line| line.leg).collect();
        let owing = |line: &Line| {
            let sent = line.model.exp_stat_sn();
            let acknowledged = line.acknowledged;
            sent.is_some_and(|sent| acknowledged.is_none_or(|it| it.is_before(sent)))
        };
        let owing: Vec<_> = self
            .lines
            .iter()
            .filter(|line| !self.connection.is_closing(line.leg) && owing(line))
            .map(|line| line.leg)
            .collect();
        self.settle();
        for (leg, before) in legs.into_iter().zip(before) {
            let Some(line) = self.lines.iter().find(|line| line.leg == leg) else { continue };
            if line.model.managed > before && ends_many(function) {
                assert!(owing.iter().all(|it| *it == leg), "{function:?} is answered too early");
            }
        }
    }

    /// A connection asks to join, as the driver has it: one of the same CID goes first, and what that left behind has to end.
    fn join(&mut self, program: &mut Program<'_>, flags: u8) {
        let cid = program.choose(&[2, 3, 4, 1, 5]);
        let tsih = if flags == 7 { TSIH + 1 } else { TSIH };
        let (how, lengths) = (program.byte() & !32, program.byte());
        let mut newcomer = Connection::new(Arc::clone(&self.config), self.catalog.clone(), self.now);
        let mut login = self.initiator.login(&mut Program::new(&[how, lengths]), tsih, cid);
        newcomer.receive(Leg::FIRST, self.now, &mut login);
        let Some(Event::Bind(request)) = newcomer.poll_event() else { panic!("an ordinary login succeeds") };
        assert_eq!((request.cid, request.tsih), (cid, tsih));
        if self.connection.is_ending() {
            return;
        }
        let since = self.now;
        if let Some(leg) = self.connection.leg_of(cid)
            && let Some(at) = self.lines.iter().position(|line| line.leg == leg)
        {
            self.part(at);
        }
        let is_full = self.lines.len() >= MOST_LINES;
        // Some time goes by until what was aborted has ended, or it does not end.
        if !is_full && self.connection.has_orphans() {
            self.wait(Duration::from_secs(program.choose(&[0, 1, 30, 4])));
            if flags & 1 == 0 {
                self.driver.finish_all(&mut self.connection, self.now);
                self.settle();
            }
        }
        if is_full || self.connection.has_orphans() || self.connection.is_ending() {
            newcomer.bound(self.now, BindOutcome::Refused { class: 3, detail: 2 });
            assert!(newcomer.is_closing(Leg::FIRST));
            return;
        }
        // It may have waited for longer than a login takes.
        newcomer.handle_timeout(self.now);
        let is_welcome = tsih == TSIH && !newcomer.is_closing(Leg::FIRST);
        let leg = self.connection.join(self.now, newcomer);
        assert_eq!(leg.is_some(), is_welcome, "after {:?}", self.now - since);
        if let Some(leg) = leg {
            assert_eq!(self.connection.leg_of(cid), Some(leg));
            self.tally.joined += 1;
            self.listen(leg);
        }
    }

    /// A connection has gone.
    fn part(&mut self, at: usize) {
        self.settle();
        if at >= self.lines.len() {
            return;
        }
        let Line { leg, model, .. } = self.lines.remove(at);
        self.tally.managed += model.managed;
        assert!(self.connection.part(leg, self.now).is_some());
        assert!(self.connection.is_closing(leg) && self.connection.transmit(leg).is_none());
        self.tally.parted += 1;
        self.settle();
    }

    /// Time goes by; timers go off when they are due.
    fn wait(&mut self, duration: Duration) {
        let until = self.now + duration;
        for _ in 0..MOST_TIMERS {
            let Some(due) = self.connection.next_timeout().filter(|due| *due <= until) else { break };
            self.now = self.now.max(due);
            self.connection.handle_timeout(self.now);
            self.settle();
            let next = self.connection.next_timeout();
            assert!(next.is_none_or(|next| next > self.now), "a timer that went off is due again at once");
        }
        self.now = until;
        self.connection.handle_timeout(self.now);
        self.settle();
    }

    /// The driver takes events, the initiator reads; connections go that are to be closed, and with the last the session.
    fn settle(&mut self) {
        let before = self.heard;
        self.take_events();
        for at in 0..self.lines.len() {
            let Line { leg, model, .. } = &mut self.lines[at];
            if let Some(queue) = self.connection.transmit(*leg) {
                let is_news = !queue.is_empty();
                model.received(queue);
                if let Some(numbering) = model.numbering().filter(|_| is_news) {
                    self.heard = Some(later(before, self.heard, numbering));
                }
            }
            if let Some(agreed) = self.connection.parameters(*leg) {
                model.logged_in(agreed);
            }
            self.is_ordered &= model.is_ordered;
        }
        while let Some(at) = self.lines.iter().position(|line| self.connection.is_closing(line.leg)) {
            let Line { leg, model, .. } = self.lines.remove(at);
            self.tally.managed += model.managed;
            assert!(self.driver.is_closed(leg));
            if self.lines.iter().all(|line| self.connection.is_closing(line.leg)) {
                // As the driver has it: the session ends with its last connection.
                self.hears_logout(leg, &model);
                for Line { leg, model, .. } in std::mem::take(&mut self.lines) {
                    self.hears_logout(leg, &model);
                    self.tally.managed += model.managed;
                }
                return;
            }
            assert!(self.connection.part(leg, self.now).is_some());
            self.tally.parted += 1;
            self.take_events();
        }
    }

    /// Who logs out hears of it before the session ends, on the connection where the request was made. One that is logged out itself
    /// meanwhile does not hear what it asked for others.
    fn hears_logout(&self, leg: Leg, model: &Model) {
        let is_logout = self.driver.close_reason(leg) == Some(CloseReason::LogoutRequested);
        assert!(!is_logout || model.logouts == 0 || !model.is_honest, "{leg:?} ends without an answer");
    }

    fn take_events(&mut self) {
        let Self { driver, connection, lines, last_turn, is_ordered, .. } = self;
        driver.poll(connection, |command| executes(lines, command, last_turn, *is_ordered));
    }

    /// The driver ends all that it has; then the initiator stays silent.
    fn finish(&mut self) {
        for _ in 0..MOST_TIMERS {
            self.driver.finish_all(&mut self.connection, self.now);
            self.settle();
            if self.lines.is_empty() {
                return;
            }
            // A connection that has gone just now left what the driver had been given just before.
            self.driver.finish_all(&mut self.connection, self.now);
            assert!(!self.connection.has_orphans());
            let waits = |line: &&Line| line.model.is_honest && line.model.logouts > 0;
            assert!(!self.lines.iter().any(|line| waits(&line)), "a logout that waits for nothing");
            let due = self.connection.next_timeout().expect("a session that has timers");
            self.now = self.now.max(due);
            self.connection.handle_timeout(self.now);
        }
        panic!("silence goes on for ever");
    }
}

/// A command comes to the driver: in the order of CmdSN over all connections, if it waits for nothing else.
fn executes(lines: &mut [Line], command: &Command, last_turn: &mut Option<Serial>, is_ordered: bool) {
    let tag = command.tag.0;
    let mut knowing = lines.iter_mut().filter(|line| line.model.knows(tag));
    let Some(line) = knowing.next() else { panic!("{command:?} of a connection that has gone") };
    // The same tag on several connections: whose this is nobody knows.
    if knowing.next().is_some() {
        return;
    }
    line.model.executes(command);
    if let Some(turn) = line.model.turn(tag).filter(|_| is_ordered && line.model.is_ordered) {
        assert!(last_turn.is_none_or(|last| last.is_before(turn)), "{turn:?} after {last_turn:?}");
        *last_turn = Some(turn);
    }
}

/// The later of what was heard; nothing goes back behind what was heard before.
fn later(before: Option<Numbering>, sofar: Option<Numbering>, new: Numbering) -> Numbering {
    if let Some(before) = before {
        let goes_back =
            new.exp_cmd_sn.is_before(before.exp_cmd_sn) || new.max_cmd_sn.is_before(before.max_cmd_sn);
        assert!(!goes_back, "{new:?} after {before:?}");
    }
    match sofar {
        Some(sofar)
            if new.exp_cmd_sn.is_before(sofar.exp_cmd_sn) || new.max_cmd_sn.is_before(sofar.max_cmd_sn) =>
        {
            sofar
        }
        _ => new,
    }
}

fn ends_many(function: TaskManagement) -> bool {
    matches!(
        function,
        TaskManagement::AbortTaskSet { .. }
            | TaskManagement::ClearTaskSet { .. }
            | TaskManagement::LogicalUnitReset { .. }
            | TaskManagement::TargetWarmReset
            | TaskManagement::TargetColdReset
            | TaskManagement::ITNexusReset
    )
}
