//! A whole connection: an initiator, a driver and a clock that do as the input says, and a model that watches both directions.

pub(crate) mod driver;
pub(crate) mod initiator;
pub(crate) mod model;

use crate::lab::{Lab, entropy};
use crate::program::Program;
use bytes::BytesMut;
use driver::Driver;
use glint_target_core::login::parameters::Offer;
use glint_target_core::session::connection::{Connection, ConnectionConfig};
use glint_target_core::session::event::Leg;
use initiator::Initiator;
use model::Model;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Input beyond this length is not looked at.
const MOST_INPUT: usize = 4096;
/// Timers that go off after the end of the input until the connection must have ended.
const MOST_TIMERS: usize = 100;

/// Takes: six bytes of configuration and two of login, then operations of one byte each with their arguments, as in [`Bench::step`].
///
/// Returns how many commands came to the driver.
pub fn connection(data: &[u8]) -> usize {
    let mut program = Program::new(&data[..data.len().min(MOST_INPUT)]);
    let mut bench = Bench::new(&mut program);
    while !program.is_over() {
        bench.step(&mut program);
    }
    bench.finish();
    bench.driver.executed()
}

struct Bench {
    connection: Connection,
    now: Instant,
    input: BytesMut,
    initiator: Initiator,
    driver: Driver,
    model: Model,
    /// Whether the initiator reads only when it is told to.
    lazy: bool,
    has_timers: bool,
}

impl Bench {
    fn new(program: &mut Program<'_>) -> Self {
        let flags = program.byte();
        let (raw_login, lazy, has_timers) = (flags & 1 != 0, flags & 2 != 0, flags & 4 == 0);
        let command_window = program.choose(&[4, 1, 2, 32]);
        let config = ConnectionConfig {
            offer: Offer {
                max_recv_data_segment_length: program.choose(&[8192, 512, 262_144]),
                max_outstanding_r2t: program.choose(&[4, 1, 2]),
                initial_r2t: flags & 8 != 0,
                immediate_data: flags & 16 == 0,
                ..Offer::default()
            },
            login_timeout: Duration::from_secs(15),
            nop_interval: if has_timers { Duration::from_secs(10) } else { Duration::ZERO },
            nop_timeout: Duration::from_secs(5),
            logout_timeout: Duration::from_secs(10),
            command_window,
            max_command_bytes: program.choose(&[1 << 20, 4096, 70_000]),
            data_out_budget: program.choose(&[1 << 20, 0, 6000]),
            entropy,
        };
        let max_command_bytes = config.max_command_bytes;
        let now = Instant::now();
        let catalog = Arc::new(Lab::new(false));
        let mut bench = Self {
            connection: Connection::new(Arc::new(config), catalog, now),
            now,
            input: BytesMut::new(),
            initiator: Initiator::new(),
            driver: Driver::default(),
            model: Model::new(command_window, max_command_bytes),
            lazy,
            has_timers,
        };
        let login = bench.initiator.login(program, 0, 1);
        if !raw_login {
            bench.receive(&login);
            bench.driver.bind(&mut bench.connection, bench.now, true);
            bench.settle(true);
            assert!(bench.connection.session().is_some(), "an ordinary login succeeds");
        }
        bench
    }

    /// One operation: its kind in the low bits of a byte, flags in the three high ones, then its arguments.
    fn step(&mut self, program: &mut Program<'_>) {
        let operation = program.byte();
        let flags = operation >> 5;
        let Self { initiator, model, .. } = self;
        let sent = match operation & 0x1f {
            0..4 => initiator.command(program, flags, model),
            4..8 => initiator.data_out(program, flags, model),
            8 => initiator.task_management(program, flags),
            9 => initiator.nop_out(program, flags),
            10 => initiator.text(program, flags),
            11 => initiator.logout(program, flags),
            12 => initiator.snack(program),
            13 => initiator.login(program, 0, 1),
            14 => {
                let len = usize::from(program.byte());
                model.is_honest = false;
                BytesMut::from(program.bytes(len))
            }
            15 => initiator.damaged(program, flags, model),
            16..21 => return self.drive(|driver, connection, now| driver.complete(connection, now, program)),
            21 | 22 => {
                return self.drive(|driver, connection, now| {
                    driver.managed(connection, now, program);
                });
            }
            23 => {
                self.driver.bind(&mut self.connection, self.now, flags & 1 == 0);
                return self.settle(true);
            }
            24 | 25 => return self.wait(Duration::from_secs(program.choose(&[1, 4, 6, 11, 60]))),
            26 => return self.settle(true),
            27 => {
                let seconds = u16::from(program.byte());
                return self.drive(|_, connection, now| connection.request_logout(Leg::FIRST, now, seconds));
            }
            // The same bytes once more, as a confused initiator might.
            28 => self.initiator.again(),
            _ => return,
        };
        self.receive(&sent);
        self.settle(false);
    }

    fn drive(&mut self, action: impl FnOnce(&mut Driver, &mut Connection, Instant)) {
        action(&mut self.driver, &mut self.connection, self.now);
        self.settle(false);
    }

    /// Bytes arrive.
    fn receive(&mut self, sent: &[u8]) {
        if !self.connection.wants_input(Leg::FIRST) {
            self.settle(true);
        }
        self.model.sent(sent);
        self.input.extend_from_slice(sent);
        self.connection.receive(Leg::FIRST, self.now, &mut self.input);
    }

    /// Time goes by; timers go off when they are due.
    fn wait(&mut self, duration: Duration) {
        let until = self.now + duration;
        for _ in 0..MOST_TIMERS {
            let Some(due) = self.connection.next_timeout().filter(|due| *due <= until) else { break };
            self.now = self.now.max(due);
            self.connection.handle_timeout(self.now);
            self.settle(false);
            let next = self.connection.next_timeout();
            assert!(next.is_none_or(|next| next > self.now), "a timer that went off is due again at once");
        }
        self.now = until;
        self.connection.handle_timeout(self.now);
        self.settle(false);
    }

    /// The driver takes events; the initiator reads.
    fn settle(&mut self, reads: bool) {
        let Self { driver, connection, model, .. } = self;
        driver.poll(connection, |command| model.executes(command));
        if (reads || !self.lazy || self.connection.is_closing(Leg::FIRST))
            && let Some(queue) = self.connection.transmit(Leg::FIRST)
        {
            self.model.received(queue);
        }
        if let Some(agreed) = self.connection.parameters(Leg::FIRST) {
            self.model.logged_in(agreed);
            self.initiator.logged_in(agreed);
        }
    }

    /// The driver ends all that it has; then the initiator stays silent.
    fn finish(&mut self) {
        self.driver.finish_all(&mut self.connection, self.now);
        self.settle(true);
        for _ in 0..MOST_TIMERS {
            let Some(due) = self.connection.next_timeout() else { break };
            self.now = self.now.max(due);
            self.connection.handle_timeout(self.now);
            self.driver.finish_all(&mut self.connection, self.now);
            self.settle(true);
        }
        let ends = self.has_timers || self.connection.session().is_none();
        assert!(self.connection.is_closing(Leg::FIRST) || !ends, "silence goes on for ever");
        assert_eq!(self.connection.is_closing(Leg::FIRST), self.driver.is_closed(Leg::FIRST));
    }
}
