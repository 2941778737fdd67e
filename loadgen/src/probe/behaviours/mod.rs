//! The behaviours, each with its name, what it asks of a scheduler, and the function that sees it.

mod accounts;
mod audio;
mod capacity;
mod frames;
mod load;
mod nodes;
mod operation;
mod order;
mod pages;
mod results;
mod rooms;
mod sessions;
mod speech;
mod spread;

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use crate::probe::stage::Stage;
use crate::probe::times::Times;
use crate::probe::verdict::Outcome;

/// One thing that any Lingua scheduler must do.
#[derive(Debug, Clone, Copy)]
pub struct Behaviour {
    /// Its name, for `--only`.
    pub name: &'static str,
    /// What a scheduler must do, in a sentence or two.
    pub explains: &'static str,
    pub(super) turn: Turn,
    /// About how long it takes.
    pub(super) takes: fn(&Times) -> Duration,
    pub(super) act: Act,
}

/// When a behaviour is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Turn {
    /// Beside others.
    Together,
    /// By itself: it loads the scheduler, or others would disturb it.
    Alone,
    /// After all others, because it may end the scheduler.
    Last,
}

pub(super) type Act = for<'a> fn(&'a Stage) -> Pin<Box<dyn Future<Output = Outcome> + Send + 'a>>;

macro_rules! behaviour {
    ($name:literal, $turn:ident, $takes:expr, $act:path, $($explains:literal)+) => {
        Behaviour {
            name: $name,
            explains: concat!($($explains),+),
            turn: Turn::$turn,
            takes: $takes,
            act: |stage| Box::pin($act(stage)),
        }
    };
}

/// What most behaviours take: a warm-up, a few utterances.
fn short(times: &Times) -> Duration {
    times.prompt.min(Duration::from_secs(3))
}

/// All behaviours, in the order in which they are told.
pub const BEHAVIOURS: &[Behaviour] = &[
    behaviour!(
        "newcomer-serves",
        Together,
        short,
        sessions::newcomer_serves,
        "A node that has just registered and sent a heartbeat gets the next job."
    ),
    behaviour!("latency-idle", Together, |times| short(times) + times.idle_gap * 3,
        load::latency_idle,
        "One job in 10 s, nothing else to do: each is at its node within a second of the last "
        "chunk, hangover included."),
    behaviour!("latency-under-load", Alone, |times| times.load + short(times) * 2,
        load::latency_under_load,
        "At half of what the nodes can carry, 99 of 100 jobs are at their node within a second of "
        "the last chunk, and every utterance ends."),
    behaviour!("recovers-after-no-node", Together, short, sessions::recovers_after_no_node,
        "A session that speaks while no node knows its pair is told so at once, and is served as "
        "soon as there is one."),
    behaviour!(
        "silent-session",
        Together,
        |times| times.silence + short(times),
        sessions::silent_session,
        "A session that sends nothing for 80 s is still served."
    ),
    behaviour!("late-chunk", Together, |times| times.pause + short(times) * 2, speech::late_chunk,
        "A chunk after a pause of more than 3 s opens the next utterance: it is neither part of "
        "the one before nor split off alone."),
    behaviour!("close-with-audio", Together, short, speech::close_with_audio,
        "A session that closes in the middle of an utterance loses nothing of it: all of its "
        "audio reaches a node."),
    behaviour!("close-in-hangover", Together, short, speech::close_in_hangover,
        "A session that closes right after the last chunk loses nothing: the utterance reaches a "
        "node all the same."),
    behaviour!("order-with-pauses", Together, |times| times.pause * 3 + short(times),
        order::order_with_pauses,
        "Utterances that pauses end are numbered and answered in the order in which they were "
        "spoken."),
    behaviour!(
        "result-order",
        Together,
        short,
        order::result_order,
        "Where the second result is there before the first, it waits for it."
    ),
    behaviour!("gap-rule", Together, |times| times.settle, order::gap_rule,
        "An utterance that no node answers gets a final message within 65 s, and the results "
        "behind it are not lost."),
    behaviour!(
        "no-result-lost",
        Together,
        short,
        accounts::no_result_lost,
        "Every utterance that a node answers gets its result."
    ),
    behaviour!(
        "no-result-twice",
        Together,
        short,
        accounts::no_result_twice,
        "No utterance gets a second result."
    ),
    behaviour!(
        "own-results",
        Together,
        short,
        accounts::own_results,
        "A session gets the results of its own utterances and no others."
    ),
    behaviour!(
        "no-unexplained-close",
        Together,
        short,
        accounts::no_unexplained_close,
        "No session's socket ends while it speaks and listens."
    ),
    behaviour!(
        "capacity-kept",
        Together,
        |times| times.load + short(times),
        capacity::capacity_kept,
        "At half load no node ever has more jobs than its max_jobs, counted at the node."
    ),
    behaviour!("full-nodes-refuse", Together, short, capacity::full_nodes_refuse,
        "With every slot taken, the next utterance waits or is refused with a typed error, and a "
        "slot that is free again is used."),
    behaviour!("skew", Together, |times| short(times) * 2, spread::skew,
        "Jobs spread over idle nodes at least as evenly as chance would (chi-square against "
        "Poisson)."),
    behaviour!("burst-spreads", Together, short, spread::burst_spreads,
        "The utterances of one session, spoken in a burst, do not pile up on one node while "
        "others are idle."),
    behaviour!("affinity", Together, short, spread::affinity,
        "After a cut by duration the session's next job goes to the same node, which keeps the "
        "rest of the sentence."),
    behaviour!(
        "node-dies",
        Together,
        |times| short(times) + Duration::from_secs(7),
        nodes::node_dies,
        "When a node is gone with jobs in flight, each of them ends in a result or an error."
    ),
    behaviour!("node-never-answers", Together, |times| times.settle / 2,
        nodes::node_never_answers,
        "A job that its node does not answer is cancelled there and given to another node as a "
        "new attempt."),
    behaviour!(
        "heartbeats-stop",
        Together,
        |times| times.presence + short(times),
        nodes::heartbeats_stop,
        "A node whose heartbeats stop while its socket stays open gets no more jobs."
    ),
    behaviour!("node-id-twice", Together, short, nodes::node_id_twice,
        "Of two sockets with one node id the newer serves, and the end of the older one does not "
        "harm it."),
    behaviour!(
        "stale-result",
        Together,
        short,
        results::stale,
        "A result that names another attempt than the current one does not count."
    ),
    behaviour!(
        "foreign-result",
        Together,
        short,
        results::foreign,
        "A result from a node that has not got the job does not count."
    ),
    behaviour!(
        "unknown-result",
        Together,
        short,
        results::unknown,
        "A result of a job that never was does not count."
    ),
    behaviour!(
        "repeated-result",
        Together,
        short,
        results::repeated,
        "A second result of a job does not reach the session."
    ),
    behaviour!("session-bound", Together, short, sessions::session_bound,
        "A session id belongs to the socket that opened it: no other socket can speak for it or "
        "close it."),
    behaviour!("malformed-session", Together, short, frames::malformed_session,
        "Frames on the session socket that are no messages are answered with an error, and the "
        "session goes on; so it does after binary ones."),
    behaviour!(
        "malformed-node",
        Together,
        short,
        frames::malformed_node,
        "The same on the node socket."
    ),
    behaviour!(
        "close-answered",
        Together,
        short,
        frames::close_answered,
        "A close frame is answered with a close frame, on both sockets."
    ),
    behaviour!(
        "pcm16-duration",
        Together,
        short,
        audio::pcm16,
        "PCM16 is measured as what it is: 8 s of it are one utterance, not cut for their length."
    ),
    behaviour!("opus-duration", Together, short, audio::opus,
        "Opus is measured by its packets of 20 ms: 8 s are one utterance, and endless speech is "
        "cut at 10 to 30 s."),
    behaviour!(
        "room-languages",
        Together,
        short,
        rooms::room_languages,
        "In a room a translation reaches the listeners of its language, and no others."
    ),
    behaviour!(
        "two-way",
        Together,
        short,
        rooms::two_way,
        "A two-way session's jobs name both languages, and answers in either direction reach it."
    ),
    behaviour!("goodput-overload", Alone, |times| times.load * 2 + short(times),
        load::goodput_overload,
        "Offered twice what the nodes can carry, as much is done as at saturation, and every "
        "utterance ends."),
    behaviour!("health-page", Together, short, pages::health, "/health says OK."),
    behaviour!(
        "stats-page",
        Alone,
        |times| times.page * 2,
        pages::stats,
        "/api/v1/stats counts the nodes and sessions that are connected."
    ),
    behaviour!(
        "metrics-page",
        Alone,
        |times| times.page,
        pages::metrics,
        "/metrics is Prometheus text with scheduler_ metrics, and counters rise with jobs."
    ),
    behaviour!("redis-restart", Last, |times| times.prompt * 4, operation::redis_restart,
        "With Redis: after it was restarted, sessions and nodes that stayed connected are served "
        "again. Needs --redis-restart."),
    behaviour!("node-drain", Together, |times| short(times) * 2, operation::node_drain,
        "A node that the operator drains gets no more jobs and finishes those that it has; when "
        "that is over it serves again."),
    behaviour!("drain", Last, |times| times.prompt * 2, operation::drain,
        "Ordered to stop, a scheduler finishes what it has admitted and admits nothing new. Needs "
        "--drain."),
];
