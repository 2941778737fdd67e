//! Clients that talk: utterances, pauses, long speech, rooms, reconnects.

use lingua_core::finalize::Chunk;
use lingua_core::instance::{Ending, Failure, Final, Input, Opened, Setup};
use lingua_core::{InstanceId, Lang, Micros, Needs, Pair, SessionId};
use lingua_scenarios::{Dur, Rate, Scenario, SessionGroup};

use crate::setup;
use crate::streams::{Purpose, Stream, choose, cumulative_zipf};
use crate::world::arrivals::BARE;
use crate::world::mail::{Leg, Mail};
use crate::world::{Event, OpenJob, World};
use crate::{Broken, SimError};

/// How long a client waits before it connects again.
const RECONNECT: Micros = Micros::secs(1);
/// Talkers of one run.
const TALKERS_MAX: usize = 10_000_000;

pub(super) struct TalkerGroup {
    group: SessionGroup,
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

pub(super) struct Talker {
    group: u16,
    session: SessionId,
    server: u16,
    id: InstanceId,
    // Apart, because it is large and looked at only between utterances.
    stream: Box<Stream>,
    doing: Doing,
    pair: usize,
    // Rises with each socket; steps planned for a former one are void.
    life: u32,
    leaves: Micros,
    up_clear: Micros,
    down_clear: Micros,
    // Last index heard per language.
    heard: Vec<(Lang, u32)>,
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
        let stream = self.streams.stream(Purpose::Arrivals, 1 << 33 | u64::from(at));
        let mut stream = Box::new(stream);
        let stay = of.group.stay.as_ref().map(|stay| stay.sample(stream.uniform()));
        let leaves = stay.map_or(Micros::NEVER, |stay| self.now + setup::micros(stay));
        let pair = choose(&mut stream, &of.weights);
        // A session that is there from the start is somewhere within a gap.
        let gap = of.group.gap.sample(stream.uniform()).micros() as f64;
        let first = Micros((gap * stream.uniform()) as u64);
        self.talkers.push(Talker {
            group,
            session: SessionId(u64::from(at)),
            server: 0,
            id: InstanceId(0),
            stream,
            doing: Doing::Gap,
            pair,
            life: 0,
            leaves,
            up_clear: Micros::ZERO,
            down_clear: Micros::ZERO,
            heard: Vec::new(),
        });
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
        talker.session = SessionId(u64::from(life) << 32 | u64::from(at));
        talker.heard.clear();
        // With no instance up, the next step tries again.
        let Some(server) = server else { return };
        talker.server = server;
        talker.id = self.servers[usize::from(server)].id;
        let setup = self.setup_of(at);
        let session = self.talkers[at as usize].session;
        self.talker_sends(at, Input::SessionOpened(session, setup));
    }

    fn setup_of(&self, at: u32) -> Setup {
        let talker = &self.talkers[at as usize];
        let group = &self.groups[usize::from(talker.group)];
        let pair = group.pairs[talker.pair];
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
        if self.server_of.get(&talker.id) != Some(&talker.server) {
            self.connect_talker(at);
            let life = self.talkers[at as usize].life;
            self.queue.push(self.now + RECONNECT, Event::Talk(at, life));
            return;
        }
        match talker.doing {
            Doing::Gap if self.now >= talker.leaves => self.leave(at),
            Doing::Gap => self.begin_utterance(at),
            Doing::Speaking(left, manual) => self.speak(at, left, manual),
            Doing::Gone => {}
        }
    }

    fn leave(&mut self, at: u32) {
        let talker = &mut self.talkers[at as usize];
        talker.doing = Doing::Gone;
        let (session, group) = (talker.session, talker.group);
        self.talker_sends(at, Input::SessionClosed(session));
        if self.groups[usize::from(group)].group.count.is_some() {
            // A session that is present all the time is replaced; the number was checked before.
            let _ = self.add_talker(group);
        }
    }

    fn begin_utterance(&mut self, at: u32) {
        self.change_of_mind(at);
        let talker = &mut self.talkers[at as usize];
        let of = &self.groups[usize::from(talker.group)].group;
        let speech = setup::micros(of.utterance.sample(talker.stream.uniform()));
        let speech = speech.max(Micros::millis(1));
        let manual = talker.stream.uniform() < of.manual_cut;
        talker.doing = Doing::Speaking(speech, manual);
        let first = setup::micros(of.chunk).min(speech);
        let life = talker.life;
        self.queue.push(self.now + first, Event::Talk(at, life));
        self.plan(u64::from(at), speech.0 << 1 | u64::from(manual));
    }

    /// Between utterances a client may reconnect or change its languages.
    fn change_of_mind(&mut self, at: u32) {
        let talker = &mut self.talkers[at as usize];
        let group = &self.groups[usize::from(talker.group)];
        let of = &group.group;
        let cycle = of.utterance.mean() + of.gap.mean();
        let now = Dur::from_micros(self.now.0);
        let chance = |rate: &Option<Rate>| rate.as_ref().map_or(0.0, |rate| rate.at(now) * cycle);
        let (reconnect, switch) = (chance(&of.reconnect), chance(&of.switch_language));
        if reconnect > 0.0 && talker.stream.uniform() < reconnect {
            let session = talker.session;
            self.recorder.mark("session_reconnected");
            self.talker_sends(at, Input::SessionClosed(session));
            self.connect_talker(at);
        }
        let talker = &mut self.talkers[at as usize];
        if switch > 0.0 && talker.stream.uniform() < switch {
            let group = &self.groups[usize::from(talker.group)];
            talker.pair = choose(&mut talker.stream, &group.weights);
            let session = talker.session;
            let setup = self.setup_of(at);
            self.recorder.mark("language_switched");
            self.talker_sends(at, Input::SessionSetup(session, setup));
        }
    }

    /// Sends the chunk that has just been spoken.
    fn speak(&mut self, at: u32, left: Micros, manual: bool) {
        let talker = &self.talkers[at as usize];
        let of = &self.groups[usize::from(talker.group)].group;
        let audio = setup::micros(of.chunk).min(left);
        let left = left - audio;
        let bytes = (audio.0 * u64::from(of.bytes_per_ms) / 1_000).max(1) as u32;
        let is_final = manual && left == Micros::ZERO;
        let session = talker.session;
        let chunk = Chunk { bytes, audio, is_final, sent: self.now };
        let arrives = self.arrives_in_turn(at);
        let talker = &self.talkers[at as usize];
        if arrives == self.now {
            self.reach_server(talker.server, Input::Chunk(session, chunk));
        } else {
            self.post_chunk(arrives, talker.id, session, chunk);
        }
        let talker = &mut self.talkers[at as usize];
        let of = &self.groups[usize::from(talker.group)].group;
        let span = if left == Micros::ZERO {
            talker.doing = Doing::Gap;
            setup::micros(of.gap.sample(talker.stream.uniform()))
        } else {
            talker.doing = Doing::Speaking(left, manual);
            setup::micros(of.chunk).min(left)
        };
        let life = talker.life;
        self.queue.push(self.now + span, Event::Talk(at, life));
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

    /// A job of a session was made: it is offered now. Bare jobs were offered on arrival.
    pub(super) fn job_is_opened(&mut self, server: u16, opened: &Opened) {
        let pair = self.recorder.pair(opened.needs.pair);
        let counted = self.is_counted(self.now);
        self.recorder.offered(self.now, pair, counted);
        let open = OpenJob {
            offered: self.now,
            pair,
            work: -1.0,
            reached: false,
            words: None,
            server,
            counted,
            again: None,
        };
        self.open_job(opened.request, open);
    }

    /// A client's socket keeps the order of what is sent to it.
    pub(super) fn in_turn(&mut self, last: &Final, arrives: Micros) -> Micros {
        let Some(talker) = self.talker_of(last) else { return arrives };
        let talker = &mut self.talkers[talker];
        talker.down_clear = talker.down_clear.max(arrives);
        talker.down_clear
    }

    /// The client of a final message, if it is still there.
    fn talker_of(&self, last: &Final) -> Option<usize> {
        let session = last.request.session;
        let at = (session.0 & 0xffff_ffff) as usize;
        let here = session.0 & BARE == 0 && self.talkers.get(at)?.session == session;
        here.then_some(at)
    }

    /// A final message reaches its client.
    pub(super) fn client_hears(&mut self, last: &Final) {
        self.digest.add(last.request.session.0 ^ u64::from(last.request.index) << 40);
        let Some(open) = self.open.remove(&last.request) else {
            self.recorder.jobs.duplicate += 1;
            let broken = Broken::new("I6", self.now, format!("{:?} ended twice", last.request));
            self.judge(self.promises.one_final, broken);
            return;
        };
        self.check_turn(last);
        self.recorder.ended(self.now, &owed(&open), last);
        if let Ending::Failed(failure) = last.ending {
            self.recorder.mark(failure.name());
        }
    }

    /// Final messages of a session arrive in the order of its utterances.
    fn check_turn(&mut self, last: &Final) {
        let Some(at) = self.talker_of(last) else { return };
        let talker = &mut self.talkers[at];
        let heard = talker.heard.iter_mut().find(|(lang, _)| *lang == last.request.tgt);
        let in_turn = match heard {
            Some((_, index)) => {
                let before = std::mem::replace(index, last.request.index);
                before < last.request.index
            }
            None => {
                talker.heard.push((last.request.tgt, last.request.index));
                true
            }
        };
        if !in_turn {
            self.recorder.jobs.reordered += 1;
            let message = format!("{:?} came after a later one", last.request);
            self.judge(self.promises.one_final, Broken::new("I6", self.now, message));
        }
    }

    /// An instance died: its clients' sockets and the answers it owed died with it.
    pub(super) fn sockets_of_server_close(&mut self, at: u16, id: InstanceId) {
        self.node_sockets_of(id);
        for (request, open) in self.open.take_of(at) {
            if self.ask_again(&open) {
                continue;
            }
            let last = Final {
                request,
                ending: Ending::Failed(Failure::NodeLost),
                sent: open.offered,
                waited: Micros::ZERO,
            };
            self.recorder.ended(self.now, &owed(&open), &last);
            self.recorder.mark("instance_lost");
        }
    }

    pub(super) fn sessions_present(&self) -> u64 {
        self.talkers.iter().filter(|talker| talker.doing != Doing::Gone).count() as u64
    }
}

fn owed(open: &OpenJob) -> crate::record::Owed {
    crate::record::Owed { offered: open.offered, pair: open.pair, counted: open.counted }
}
