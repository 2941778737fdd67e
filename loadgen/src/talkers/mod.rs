//! The fake clients: one task per session socket.

mod connection;
mod linger;
mod session;
mod whole;

use std::sync::Arc;

use lingua_scenarios::{ArrivalGroup, Dur, Error, Scenario};

use crate::Options;
use crate::audio::{Codec, Voice};
use crate::context::{Context, Phase, closing};
use crate::plan::{Arrivals, Comers, Group, Talker, rate_of};
use crate::private::Disguise;
use session::Session;

/// Starts all sessions that are there from the beginning, and those who let others come.
pub(crate) fn start(
    context: &Arc<Context>,
    scenario: &Scenario,
    options: &Options,
    disguise: Option<&Disguise>,
) -> Result<(), Error> {
    for (index, of) in scenario.sessions.iter().enumerate() {
        let group = Arc::new(Group::new(of));
        let codec = options.codec.unwrap_or_else(|| Voice::codec_of(of.bytes_per_ms));
        let voice = Arc::new(Voice::new(codec, of.bytes_per_ms, of.chunk.micros()));
        for _ in 0..of.count.unwrap_or(0) {
            let number = context.next_talker();
            if context.shard.has(number.into()) {
                let talker = Talker::new(&context.streams, &group, number, 0);
                tokio::spawn(Session::new(context.clone(), talker, voice.clone()).live());
            }
        }
        if let Some(rate) = &of.rate {
            let until =
                Dur::from_micros((scenario.duration.micros() as f64 * options.speed) as u64);
            let plan = Comers::new(&context.streams, rate.clone(), index, until);
            tokio::spawn(come(context.clone(), plan, group, voice));
        }
    }
    for (index, group) in scenario.arrivals.iter().enumerate() {
        let mut plan = Arrivals::new(&context.streams, scenario, group, index)?;
        plan.take_part(context.shard, disguise.cloned());
        let sockets = sockets_of(scenario, group, options);
        whole::start(context, plan, options.codec.unwrap_or(Codec::Opus), sockets);
    }
    Ok(())
}

/// Lets sessions come by their plan.
async fn come(context: Arc<Context>, mut plan: Comers, group: Arc<Group>, voice: Arc<Voice>) {
    let mut phase = context.phase.subscribe();
    let running = |phase: &Phase| *phase != Phase::Connecting;
    let start = match phase.wait_for(running).await.as_deref() {
        Ok(Phase::Running(start)) => *start,
        _ => return,
    };
    let mut alarm = context.pacer.alarm();
    for nth in 0.. {
        let Some(us) = plan.next() else { return };
        tokio::select! {
            () = alarm.until(context.planned(start, us)) => {}
            () = closing(&mut phase) => return,
        }
        if context.shard.has(nth) {
            let number = context.later_talker();
            let talker = Talker::new(&context.streams, &group, number, us);
            tokio::spawn(Session::new(context.clone(), talker, voice.clone()).live());
        }
    }
}

/// Most sockets of one group of bare jobs.
const SOCKETS_MAX: u32 = 8_000;
/// Sockets of a recorded trace, whose rate is not known beforehand.
const SOCKETS_OF_TRACE: u32 = 512;

/// Sockets that a group of bare jobs needs so that one is free nearly always.
pub(crate) fn sockets_of(scenario: &Scenario, group: &ArrivalGroup, options: &Options) -> u32 {
    if let Some(sockets) = options.sockets {
        return sockets;
    }
    if group.trace.is_some() {
        return SOCKETS_OF_TRACE;
    }
    let service = scenario.nodes.iter().map(|group| group.service_time.mean()).fold(0.0, f64::max);
    let rate = rate_of(scenario, group).max() / f64::from(options.shard.count());
    // Half a second beside the work, and room for chance.
    let open = rate * (service + 0.5);
    ((open + 4.0 * open.sqrt() + 16.0) as u32).clamp(1, SOCKETS_MAX)
}
