//! The fake clients: one task per session socket.

mod connection;
mod linger;
mod session;
mod whole;

use std::sync::Arc;

use lingua_scenarios::{ArrivalGroup, Error, Scenario};

use crate::Options;
use crate::audio::{Codec, Voice};
use crate::context::Context;
use crate::plan::{Arrivals, Group, Talker, rate_of};
use session::Session;

/// Starts all sessions that are there from the beginning.
pub(crate) fn start(
    context: &Arc<Context>,
    scenario: &Scenario,
    options: &Options,
) -> Result<(), Error> {
    for of in &scenario.sessions {
        let group = Arc::new(Group::new(of));
        let codec = options.codec.unwrap_or_else(|| Voice::codec_of(of.bytes_per_ms));
        let voice = Arc::new(Voice::new(codec, of.bytes_per_ms, of.chunk.micros()));
        for _ in 0..of.count.unwrap_or(0) {
            let talker = Talker::new(&context.streams, &group, context.next_talker(), 0);
            tokio::spawn(Session::new(context.clone(), talker, voice.clone()).live());
        }
    }
    for (index, group) in scenario.arrivals.iter().enumerate() {
        let plan = Arrivals::new(&context.streams, scenario, group, index)?;
        let sockets = sockets_of(scenario, group, options);
        whole::start(context, plan, options.codec.unwrap_or(Codec::Opus), sockets);
    }
    Ok(())
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
    // Half a second beside the work, and room for chance.
    let open = rate_of(scenario, group).max() * (service + 0.5);
    ((open + 4.0 * open.sqrt() + 16.0) as u32).clamp(1, SOCKETS_MAX)
}
