//! Clients that talk: utterances, pauses, long speech, rooms, reconnects.

use lingua_core::finalize::Chunk;
use lingua_core::instance::{Input, Seat, Setup};
use lingua_core::{InstanceId, Lang, Micros, Needs, Pair, SessionId};
use lingua_scenarios::{Dur, Rate, Sampler, Scenario, SessionGroup};

use crate::SimError;
use crate::setup;
use crate::streams::{Purpose, Stream, choose, cumulative_zipf};
use crate::world::arrivals::BARE;
use crate::world::mail::{Audio, Leg, Mail};
use crate::world::{Event, World};

/// How long a client waits before it connects again.
const RECONNECT: Micros = Micros::secs(1);
/// Talkers of one run.
const TALKERS_MAX: usize = 10_000_000;

pub(super) struct TalkerGroup {
    group: SessionGroup,
    // Length of a chunk.
    chunk: Micros,
    utterance: Sampler,
    gap: Sampler,
    // Mean time from one utterance to the next, seconds.
    cycle: f64,
    pairs: Vec<Pair>,
    weights: Vec<f64>,
    listeners: Vec<Lang>,
    arrivals: Stream,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Doing {
    /// Silent until the next utterance.
    Gap,
    /// Speech left, and whether the client ends it itself.
    Speaking(Micros, bool),
    /// Gone for good.
    Gone,
}

/// A client: what every step of it looks at, in one cache line.
#[repr(align(64))]
pub(super) struct Talker {
    doing: Doing,
    up_clear: Micros,
    // Rises with each socket; steps planned for a former one are void.
    life: u32,
    group: u16,
    server: u16,
    id: InstanceId,
    // Where the instance keeps the session of this socket, once known.
    seat: Option<Seat>,
    apart: Box<Apart>,
}

/// What is looked at only between utterances.
struct Apart {
    stream: Stream,
    pair: usize,
    leaves: Micros,
    down_clear: Micros,
    // Last index heard per language.
    heard: Vec<(Lang, u32)>,
}

impl Talker {
    /// How many sockets it has had.
    pub(super) fn life(&self) -> u32 {
        self.life
    }

    /// When a message to it that comes then is heard: never before an earlier one.
    pub(super) fn in_turn(&mut self, arrives: Micros) -> Micros {
        let clear = &mut self.apart.down_clear;
        *clear = arrives.max(*clear);
        *clear
    }

    /// It hears of an utterance; tells whether all it has heard in this language was of earlier ones.
    pub(super) fn hear(&mut self, tgt: Lang, index: u32) -> bool {
        let heard = &mut self.apart.heard;
        match heard.iter_mut().find(|(lang, _)| *lang == tgt) {
            Some((_, last)) => std::mem::replace(last, index) < index,
            None => {
                heard.push((tgt, index));
                true
            }
        }
    }
}

impl World {
    pub(super) fn start_talkers(&mut self, scenario: &Scenario) -> Result<(), SimError> {
        for (at, group) in scenario.sessions.iter().enumerate() {
            let mut pairs = Vec::new();
            for pair in group.pair.iter().chain(&group.pairs) {
                pairs.push(setup::pair(pair)?);
            }
            let lang = |tag: &String| tag.parse::<Lang>();
            let listeners = group.listeners.iter().map(lang).collect::<Result<Vec<_>, _>>();
            let listeners = listeners.map_err(|error| SimError::Scenario(error.to_string()))?;
            self.groups.push(TalkerGroup {
                weights: cumulative_zipf(pairs.len(), group.zipf),
                pairs,
                listeners,
                arrivals: self.streams.stream(Purpose::Arrivals, 1 << 32 | at as u64),
                chunk: setup::micros(group.chunk),
                utterance: group.utterance.sampler(),
                gap: group.gap.sampler(),
                cycle: group.utterance.mean() + group.gap.mean(),
                group: group.clone(),
            });
            for _ in 0..group.count.unwrap_or(0) {
                self.add_talker(at as u16)?;
            }
            if group.rate.is_some() {
                self.plan_session_arrival(at as u16);
            }
        }
        Ok(())
    }

    fn plan_session_arrival(&mut self, at: u16) {
        let group = &mut self.groups[usize::from(at)];
        let Some(rate) = &group.group.rate else { return };
        let peak = rate.max();
        if peak > 0.0 {
            let gap = Micros((group.arrivals.exponential() / peak * 1e6) as u64);
            if self.now + gap < self.end {
                self.queue.push(self.now + gap, Event::SessionArrival(at));
            }
        }
    }

    pub(super) fn session_arrives(&mut self, at: u16) {
        let group = &mut self.groups[usize::from(at)];
        let Some(rate) = &group.group.rate else { return };
        let kept = rate.is_constant()
            || group.arrivals.uniform() * rate.max() < rate.at(Dur::from_micros(self.now.0));
        if kept && self.talkers.len() < TALKERS_MAX {
            // The number was checked just now.
            let _ = self.add_talker(at);
        }
        self.plan_session_arrival(at);
    }

    fn add_talker(&mut self, group: u16) -> Result<(), SimError> {
        if self.talkers.len() >= TALKERS_MAX {
            return Err(SimError::Scenario(format!("more than {TALKERS_MAX} sessions")));
        }
        let at = self.talkers.len() as u32;
        let of = &self.groups[usize::from(group)];
        let mut stream = self.streams.stream(Purpose::Arrivals, 1 << 33 | u64::from(at));
        let stay = of.group.stay.as_ref().map(|stay| stay.sample(stream.uniform()));
        let leaves = stay.map_or(Micros::NEVER, |stay| self.now + setup::micros(stay));
        let pair = choose(&mut stream, &of.weights);
        // A session that is there from the start is somewhere within a gap.
        let gap = of.gap.sample(stream.uniform()).micros() as f64;
        let first = Micros((gap * stream.uniform()) as u64);
        self.talkers.push(Talker {
            doing: Doing::Gap,
            up_clear: Micros::ZERO,
            life: 0,
            group,
            server: 0,
            id: InstanceId(0),
            seat: None,
            apart: Box::new(Apart {
                stream,
                pair,
                leaves,
                down_clear: Micros::ZERO,
                heard: Vec::new(),
            }),
        });
        self.present += 1;
        self.connect_talker(at);
        let life = self.talkers[at as usize].life;
        self.queue.push(self.now + first, Event::Talk(at, life));
        Ok(())
    }

    /// Opens a socket and, always, a new session.
    fn connect_talker(&mut self, at: u32) {
        let life = self.talkers[at as usize].life + 1;
        let newcomer = u64::from(at) + u64::from(life) - 1;
        let server = self.balance(newcomer);
        let talker = &mut self.talkers[at as usize];
        talker.life = life;
        talker.seat = None;
        talker.apart.heard.clear();
        // With no instance up, the next step tries again.
        let Some(server) = server else { return };
        talker.server = server;
        talker.id = self.servers[usize::from(server)].id;
        let setup = self.setup_of(at);
        let session = self.session_of(at);
        self.talker_sends(at, Input::SessionOpened(session, setup));
    }

    /// The session of a talker's present socket.
    fn session_of(&self, at: u32) -> SessionId {
        session(at, self.talkers[at as usize].life)
    }

    fn setup_of(&self, at: u32) -> Setup {
        let talker = &self.talkers[at as usize];
        let group = &self.groups[usize::from(talker.group)];
        let pair = group.pairs[talker.apart.pair];
        let of = &group.group;
        let needs = |pair| {
            let model = of.model.as_deref();
            setup::needs(&self.names, pair, &of.features, model, of.region.as_deref())
        };
        if group.listeners.is_empty() {
            return Setup::new(&[needs(pair)]);
        }
        let mut targets: Vec<Needs> = Vec::new();
        for &tgt in &group.listeners {
            let needs = needs(Pair { src: pair.src, tgt });
            if !targets.contains(&needs) {
                targets.push(needs);
            }
        }
        Setup::new(&targets)
    }

    /// One step of a talker.
    pub(super) fn talk(&mut self, at: u32, life: u32) {
        let talker = &self.talkers[at as usize];
        if talker.life != life || talker.doing == Doing::Gone || self.now >= self.end {
            return;
        }
        if !self.servers[usize::from(talker.server)].is(talker.id) {
            self.connect_talker(at);
            let life = self.talkers[at as usize].life;
            self.queue.push(self.now + RECONNECT, Event::Talk(at, life));
            return;
        }
        match talker.doing {
            Doing::Gap if self.now >= talker.apart.leaves => self.leave(at),
            Doing::Gap => self.begin_utterance(at),
            Doing::Speaking(left, manual) => self.speak(at, left, manual),
            Doing::Gone => {}
        }
    }

    fn leave(&mut self, at: u32) {
        let talker = &mut self.talkers[at as usize];
        talker.doing = Doing::Gone;
        self.present -= 1;
        let (session, group) = (session(at, talker.life), talker.group);
        self.talker_sends(at, Input::SessionClosed(session));
        if self.groups[usize::from(group)].group.count.is_some() {
            // A session that is present all the time is replaced; the number was checked before.
            let _ = self.add_talker(group);
        }
    }

    fn begin_utterance(&mut self, at: u32) {
        self.change_of_mind(at);
        let talker = &mut self.talkers[at as usize];
        let TalkerGroup { group: of, utterance, chunk, .. } =
            &self.groups[usize::from(talker.group)];
        let stream = &mut talker.apart.stream;
        let speech = setup::micros(utterance.sample(stream.uniform()));
        let speech = speech.max(Micros::millis(1));
        let manual = stream.uniform() < of.manual_cut;
        talker.doing = Doing::Speaking(speech, manual);
        let first = speech.min(*chunk);
        let life = talker.life;
        self.queue.push(self.now + first, Event::Talk(at, life));
        self.plan(u64::from(at), speech.0 << 1 | u64::from(manual));
    }

    /// Between utterances a client may reconnect or change its languages.
    fn change_of_mind(&mut self, at: u32) {
        let talker = &mut self.talkers[at as usize];
        let group = &self.groups[usize::from(talker.group)];
        let of = &group.group;
        let now = Dur::from_micros(self.now.0);
        let chance =
            |rate: &Option<Rate>| rate.as_ref().map_or(0.0, |rate| rate.at(now) * group.cycle);
        let (reconnect, switch) = (chance(&of.reconnect), chance(&of.switch_language));
        if reconnect > 0.0 && talker.apart.stream.uniform() < reconnect {
            let session = session(at, talker.life);
            self.recorder.mark("session_reconnected");
            self.talker_sends(at, Input::SessionClosed(session));
            self.connect_talker(at);
        }
        let talker = &mut self.talkers[at as usize];
        let session = session(at, talker.life);
        let Apart { stream, pair, .. } = &mut *talker.apart;
        if switch > 0.0 && stream.uniform() < switch {
            let group = &self.groups[usize::from(talker.group)];
            *pair = choose(stream, &group.weights);
            let setup = self.setup_of(at);
            self.recorder.mark("language_switched");
            self.talker_sends(at, Input::SessionSetup(session, setup));
        }
    }

    /// Sends the chunk that has just been spoken.
    fn speak(&mut self, at: u32, left: Micros, manual: bool) {
        let now = self.now;
        let arrives = self.arrives_in_turn(at);
        let talker = &mut self.talkers[at as usize];
        let TalkerGroup { group: of, chunk, gap, .. } = &self.groups[usize::from(talker.group)];
        let audio = left.min(*chunk);
        let left = left - audio;
        let bytes = (audio.0 * u64::from(of.bytes_per_ms) / 1_000).max(1) as u32;
        let is_final = manual && left == Micros::ZERO;
        let span = if left == Micros::ZERO {
            talker.doing = Doing::Gap;
            setup::micros(gap.sample(talker.apart.stream.uniform()))
        } else {
            talker.doing = Doing::Speaking(left, manual);
            left.min(*chunk)
        };
        let life = talker.life;
        let audio = Audio {
            to: talker.id,
            server: talker.server,
            session: session(at, life),
            seat: talker.seat,
            chunk: Chunk { bytes, audio, is_final, sent: now },
        };
        if arrives == now {
            self.audio_arrives(audio);
        } else {
            self.post_audio(arrives, audio);
        }
        self.queue.push(now + span, Event::Talk(at, life));
    }

    /// An instance has had audio of a session: from now on the socket knows the session's seat.
    pub(super) fn take_seat(&mut self, session: SessionId, seat: Option<Seat>) {
        if let Some(at) = self.talker_of(session) {
            self.talkers[at].seat = seat;
        }
    }

    /// When a message sent now arrives: never before one sent earlier.
    fn arrives_in_turn(&mut self, at: u32) -> Micros {
        let latency = self.latency(Leg::Session);
        let talker = &mut self.talkers[at as usize];
        talker.up_clear = talker.up_clear.max(self.now + latency);
        talker.up_clear
    }

    fn talker_sends(&mut self, at: u32, input: Input) {
        let arrives = self.arrives_in_turn(at);
        let talker = &self.talkers[at as usize];
        let (server, id) = (talker.server, talker.id);
        if arrives == self.now {
            self.reach_server(server, input);
        } else {
            self.post(arrives, Mail::Input(id, input));
        }
    }

    /// The client of a session, if it is still there.
    pub(super) fn talker_of(&self, of: SessionId) -> Option<usize> {
        let at = of.0 as u32;
        let here = of.0 & BARE == 0 && session(at, self.talkers.get(at as usize)?.life) == of;
        here.then_some(at as usize)
    }
}

/// The session of a talker's socket.
fn session(at: u32, life: u32) -> SessionId {
    SessionId(u64::from(life) << 32 | u64::from(at))
}
