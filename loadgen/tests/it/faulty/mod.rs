//! A small scripted scheduler that speaks the wire contract, with faults planted on order.
//!
//! It exists to be judged, so it has neither code nor rules in common with our own scheduler:
//! one task, plain JSON values, the simplest thing that is right, and then the faults.
//!
//! ```ignore
//! let scheduler = Faulty::start(&[Fault::Oversells]).await;
//! let url = scheduler.url(); // ws://127.0.0.1:port
//! ```

mod frames;
mod hub;
mod nodes;
mod rooms;
mod sessions;
mod sockets;

use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// What the scheduler does wrong. Faults of single results strike the fourth one of each session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A node is given jobs beyond its maximum.
    Oversells,
    /// A result is sent twice.
    DuplicatesResult,
    /// A result is not sent.
    DropsResult,
    /// Results leave as they come, not in the order of the utterances.
    Reorders,
    /// A result goes to another session, where there is one.
    AnswersWrongSession,
    /// A session's next job after a cut by time-out or duration goes anywhere.
    IgnoresAffinity,
    /// The first node with a free slot gets every job.
    PicksFirstNode,
    /// A session's jobs all go to the node of its first one.
    PinsSessions,
    /// Everything stops for 5 s, once, at the hundredth job.
    Freezes,
    /// A session's socket is dropped without a close frame, instead of its fourth result.
    ClosesSilently,
    /// No session ever hears how an utterance ended.
    NeverAnswers,
    /// The first chunk after a pause becomes an utterance of its own.
    SplitsLateChunk,
    /// Audio that is in no utterance yet is lost when its session closes.
    LosesAudioAtClose,
    /// An utterance is lost when its session closes within the hangover.
    LosesHangoverAtClose,
    /// A session that was silent for [`Pace::idle`] is ignored.
    ForgetsIdleSessions,
    /// A session is ignored once there was no node for it.
    DropsSessionWithoutNode,
    /// A node gets its first job only [`Pace::newcomer`] after it registered.
    DelaysNewcomers,
    /// Jobs of a node that is gone are forgotten.
    LosesJobsOfDeadNodes,
    /// A job without an answer is given up without a second attempt.
    NeverRetries,
    /// A job whose attempts are all over ends without a word.
    SkipsGapsSilently,
    /// A result counts whatever attempt it names.
    TakesStaleResults,
    /// A result counts whichever node sends it.
    TakesForeignResults,
    /// A result of a job that never was counts.
    TakesUnknownResults,
    /// A job's second result counts too.
    TakesRepeatedResults,
    /// The end of a node's old socket ends its new one.
    OldSocketEndsNew,
    /// Frames that are no messages are not answered.
    IgnoresMalformed,
    /// A frame that is no message ends its socket.
    DiesOfMalformed,
    /// Durations are estimated as if all audio were Opus of 24 kbit/s.
    MeasuresAllAsOpus,
    /// Results of a room go to the speaker.
    AnswersSpeakerOfRoom,
    /// A two-way session is served in one direction.
    ServesOneWay,
    /// Any socket may speak for any session.
    OpensSessionsToAll,
    /// For a second after a refusal everything is refused.
    CollapsesUnderLoad,
    /// A node without heartbeats goes on getting jobs.
    KeepsSilentNodes,
    /// The state page shows no nodes.
    HidesNodes,
}

impl Fault {
    /// All of them.
    pub(crate) const ALL: &[Self] = &[
        Self::Oversells,
        Self::DuplicatesResult,
        Self::DropsResult,
        Self::Reorders,
        Self::AnswersWrongSession,
        Self::IgnoresAffinity,
        Self::PicksFirstNode,
        Self::PinsSessions,
        Self::Freezes,
        Self::ClosesSilently,
        Self::NeverAnswers,
        Self::SplitsLateChunk,
        Self::LosesAudioAtClose,
        Self::LosesHangoverAtClose,
        Self::ForgetsIdleSessions,
        Self::DropsSessionWithoutNode,
        Self::DelaysNewcomers,
        Self::LosesJobsOfDeadNodes,
        Self::NeverRetries,
        Self::SkipsGapsSilently,
        Self::TakesStaleResults,
        Self::TakesForeignResults,
        Self::TakesUnknownResults,
        Self::TakesRepeatedResults,
        Self::OldSocketEndsNew,
        Self::IgnoresMalformed,
        Self::DiesOfMalformed,
        Self::MeasuresAllAsOpus,
        Self::AnswersSpeakerOfRoom,
        Self::ServesOneWay,
        Self::OpensSessionsToAll,
        Self::CollapsesUnderLoad,
        Self::KeepsSilentNodes,
        Self::HidesNodes,
    ];
}

/// How long the scheduler waits for what.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    /// From the end of an utterance to its job.
    pub(crate) hangover: Duration,
    /// Silence that ends an utterance.
    pub(crate) pause: Duration,
    /// A node lives so long without a heartbeat.
    pub(crate) presence: Duration,
    /// An attempt may take so long.
    pub(crate) job_timeout: Duration,
    /// For [`Fault::DelaysNewcomers`].
    pub(crate) newcomer: Duration,
    /// For [`Fault::ForgetsIdleSessions`].
    pub(crate) idle: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            hangover: Duration::from_millis(200),
            pause: Duration::from_secs(3),
            presence: Duration::from_secs(45),
            job_timeout: Duration::from_secs(25),
            newcomer: Duration::from_secs(15),
            idle: Duration::from_secs(60),
        }
    }
}

impl Pace {
    /// For tests that cannot wait.
    pub(crate) fn brisk() -> Self {
        Self {
            hangover: Duration::from_millis(150),
            pause: Duration::from_millis(500),
            presence: Duration::from_millis(1_500),
            job_timeout: Duration::from_millis(1_500),
            newcomer: Duration::from_secs(7),
            idle: Duration::from_millis(1_800),
        }
    }
}

/// A running scheduler; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Faulty {
    address: SocketAddr,
    tasks: [JoinHandle<()>; 2],
}

impl Faulty {
    /// Starts a scheduler with these faults on a free port of the loopback.
    pub(crate) async fn start(faults: &[Fault]) -> Self {
        Self::start_at(faults, Pace::default()).await
    }

    /// The same, with waits of one's own.
    pub(crate) async fn start_at(faults: &[Fault], pace: Pace) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (hub, inbox) = mpsc::channel(4_096);
        let scheduler = hub::Hub::new(faults.to_vec(), pace);
        let tasks =
            [tokio::spawn(scheduler.run(inbox)), tokio::spawn(sockets::accept(listener, hub))];
        Self { address, tasks }
    }

    /// `ws://` address and port, without a path.
    pub(crate) fn url(&self) -> String {
        format!("ws://{}", self.address)
    }
}

impl Drop for Faulty {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}
