//! What a scheduler's work costs and how long its messages are on their way, measured from
//! outside, as a scenario's `[costs]` want it.

mod bursts;
mod fit;
mod peers;
mod store;

use std::time::Duration;

use hdrhistogram::Histogram;
use lingua_reports::run::Verdict;
use lingua_reports::summary::{latency_histogram, record_ns};
use lingua_scenarios::{Basis, Costs, Dist, Dur, Loaded};
use tokio::time::{Instant, sleep};
use tokio_tungstenite::tungstenite;

use crate::process::Process;
use crate::socket::ConnectError;
use crate::target::Address;
use crate::{LoadError, Options, Target, Unwatched, run};
use fit::{POINTS, halves, lateness, points, rest};
use peers::Peer;
use store::Steps;

/// Round trips of one session, and the pause between two.
const PINGS: u32 = 500;
const PAUSE: Duration = Duration::from_millis(5);

/// Where the steps at the store are read in the run of whole utterances. A scheduler's figures are
/// up to five seconds old, and neither the opening of its sockets nor their end belongs in them.
const STEADY: [Duration; 2] = [Duration::from_secs(8), Duration::from_secs(21)];

/// Bare jobs: from the message to the node, no timer in between.
const WHOLE: &str = r#"
title = "calibration: whole utterances"
duration = "22s"
warmup = "2s"
[[nodes]]
count = 20
asr = ["qac"]
tts = ["qad"]
max_jobs = 8
service_time = "100ms"
[[arrivals]]
pair = "qac:qad"
rate = "200/s"
"#;

/// Talkers who end each utterance themselves: the hangover's timer lies on the way.
const CUT: &str = r#"
title = "calibration: manual cuts"
duration = "22s"
warmup = "2s"
[[nodes]]
count = 20
asr = ["qae"]
tts = ["qaf"]
max_jobs = 8
service_time = "100ms"
[[sessions]]
count = 200
pair = "qae:qaf"
utterance = "500ms"
gap = { exponential = "500ms" }
bytes_per_ms = 4
"#;

/// Why a scheduler could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum CalibrateError {
    /// The scheduler cannot be reached, or a run over real sockets cannot be made.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A socket did not open.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// A socket broke.
    #[error("a socket broke: {0}; look at the scheduler's log")]
    Socket(#[from] Box<tungstenite::Error>),
    /// A socket was closed.
    #[error("the scheduler closed a socket of the calibration; look at its log")]
    Closed,
    /// The machine was too busy for a measurement that can be trusted.
    #[error("a run of the calibration is void: {reasons}; try again when less runs beside it")]
    Void {
        /// Why.
        reasons: String,
    },
    /// The scheduler said no.
    #[error("the scheduler answered `{said}` where `{wanted}` was due")]
    Refused {
        /// What was waited for.
        wanted: String,
        /// What came.
        said: String,
    },
    /// The scheduler said nothing.
    #[error("no `{wanted}` came within 30 s; is this a Lingua scheduler?")]
    Silent {
        /// What was waited for.
        wanted: String,
    },
    /// Too little came back to measure anything.
    #[error("only {count} jobs reached a node in a calibration run, 100 are needed")]
    TooFew {
        /// How many.
        count: u64,
    },
    /// A store of which too little is told.
    #[error(
        "the scheduler's /metrics tell of no step at its store within 13 s of a run; let it make its \
         snapshot every 5 s, as it does by default"
    )]
    NoSteps,
    /// The operating system.
    #[error("cannot start the calibration: {0}")]
    System(#[from] std::io::Error),
}

/// Time per message of one kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Each {
    /// Mean.
    pub time: Duration,
    /// Messages that it is the mean of.
    pub count: u64,
}

/// One field of `[costs]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// How it was measured.
    pub note: String,
}

/// A latency as it was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Latency {
    /// How it was measured.
    pub field: Field,
    /// Equally likely values, sorted.
    pub values: Vec<Dur>,
}

/// What was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibration {
    /// All figures but the latencies below; those that no field names are zero.
    pub costs: Costs,
    /// The latencies that no formula fits.
    pub latencies: Vec<Latency>,
    /// The fields that were measured, in their order.
    pub fields: Vec<Field>,
}

/// Measures a scheduler. It takes about a minute, in languages that nobody speaks.
///
/// # Errors
/// The scheduler cannot be started or reached, or does not answer.
pub fn calibrate(target: &Target) -> Result<Calibration, CalibrateError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let (scheduler, addresses) = target.reach().await?;
        let address = addresses.first();
        let process = match &scheduler {
            Some(scheduler) => Process::new(scheduler.pid()),
            None => Process::listening_at(address.socket),
        };
        let measured = measure(address, process).await;
        if let Some(scheduler) = scheduler {
            scheduler.stop().await;
        }
        measured
    })
}

async fn measure(
    address: &Address,
    process: Option<Process>,
) -> Result<Calibration, CalibrateError> {
    let round_trip = round_trip(address).await?;
    let (whole, steps) = tokio::try_join!(dispatches(address, WHOLE), steady_steps(address))?;
    let cut = dispatches(address, CUT).await?;
    let bursts = bursts::measure(address, process).await?;

    let nanos = |time: Duration| time.as_nanos() as f64;
    let dur = |each: Each| Dur::from_nanos_f64(nanos(each.time));
    let to_instance = round_trip.value_at_quantile(0.5) as f64 / 2.0;
    let from_instance = points(&whole, to_instance + nanos(bursts.dispatch.time));
    let latency = |name, note: String, values: Vec<f64>| Latency {
        field: Field { name, note },
        values: values.into_iter().map(Dur::from_nanos_f64).collect(),
    };
    let to_node = |values| {
        let note = "what else lies between a whole utterance and its node";
        latency("node_latency", note.to_owned(), values)
    };
    let latencies = match steps {
        Some((steps, count)) => {
            let note = format!("half a step at the store, its own time included, {count} steps");
            vec![
                to_node(rest(&from_instance, &steps)),
                latency("store_latency", note, halves(&steps)),
            ]
        }
        None => vec![to_node(from_instance)],
    };
    let timer_lateness = lateness(&points(&whole, 0.0), &cut);
    let by = if process.is_some() { "processor time" } else { "time on the clock" };
    let of = |name, each: Each| Field { name, note: format!("{by}, {} messages", each.count) };
    let fields = vec![
        of("dispatch", bursts.dispatch),
        of("heartbeat", bursts.heartbeat),
        of("register", bursts.register),
        of("chunk", bursts.chunk),
        of("result", bursts.result),
        of("kib", bursts.kib),
        Field { name: "session_latency", note: format!("half a round trip, median of {PINGS}") },
        Field {
            name: "timer_lateness",
            note: format!("by which manual cuts are later than that, {} jobs", cut.len()),
        },
    ];
    let costs = Costs {
        basis: Basis::Measured,
        dispatch: dur(bursts.dispatch),
        heartbeat: dur(bursts.heartbeat),
        register: dur(bursts.register),
        chunk: dur(bursts.chunk),
        result: dur(bursts.result),
        kib: dur(bursts.kib),
        session_latency: Dist::Constant(Dur::from_nanos_f64(to_instance)),
        timer_lateness,
        ..Costs::default()
    };
    Ok(Calibration { costs, latencies, fields })
}

async fn round_trip(address: &Address) -> Result<Histogram<u64>, CalibrateError> {
    let mut session = Peer::session(address).await?;
    let mut times = latency_histogram();
    for _ in 0..PINGS {
        let sent = Instant::now();
        session.ping().await?;
        record_ns(&mut times, sent.elapsed().as_nanos() as u64);
        sleep(PAUSE).await;
    }
    session.close().await;
    Ok(times)
}

/// Times of steps at the store while a run is steady, and how many there were; absent where there
/// is no store.
async fn steady_steps(address: &Address) -> Result<Option<(Vec<f64>, u64)>, CalibrateError> {
    let [begin, end] = STEADY;
    sleep(begin).await;
    let Some(before) = Steps::at(address).await else { return Ok(None) };
    sleep(end - begin).await;
    let after = Steps::at(address).await;
    let steps = after.and_then(|after| after.since(&before, POINTS));
    steps.map(Some).ok_or(CalibrateError::NoSteps)
}

/// The dispatch latencies of a small run, hangover taken off.
async fn dispatches(address: &Address, scenario: &str) -> Result<Histogram<u64>, CalibrateError> {
    let loaded: Loaded = scenario.parse().map_err(LoadError::Scenario)?;
    let options = Options::new(Target::Running(address.base.as_str().into()));
    let mut artifacts = run::run(&loaded, &options, &mut Unwatched).await?;
    if artifacts.run.verdict == Verdict::Void {
        return Err(CalibrateError::Void { reasons: artifacts.run.reasons.join("; ") });
    }
    let found = artifacts.histograms.remove("dispatch_net").unwrap_or_else(latency_histogram);
    if found.len() < 100 {
        return Err(CalibrateError::TooFew { count: found.len() });
    }
    Ok(found)
}
