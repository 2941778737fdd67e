//! Latencies, in nanoseconds, as histograms.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use lingua_core::Micros;
use lingua_core::finalize::Reason;
use lingua_core::instance::{Assign, Final};
use lingua_reports::summary;
use lingua_scenarios::Scheduler;

/// All histograms of a run.
pub(crate) struct Latencies {
    dispatch: Histogram<u64>,
    dispatch_net: Histogram<u64>,
    response: Histogram<u64>,
    wait: Histogram<u64>,
    store: Histogram<u64>,
    // Whether jobs may wait for a slot at all.
    waits: bool,
}

impl Latencies {
    pub(crate) fn new(waits: bool) -> Self {
        Self {
            waits,
            dispatch: summary::latency_histogram(),
            dispatch_net: summary::latency_histogram(),
            response: summary::latency_histogram(),
            wait: summary::latency_histogram(),
            store: summary::latency_histogram(),
        }
    }

    /// Dispatch is measured over manual cuts and whole utterances: only there does the client
    /// know when it had spoken. Gives the span where it counts.
    pub(super) fn arrived(
        &mut self,
        now: Micros,
        assign: &Assign,
        scheduler: &Scheduler,
    ) -> Option<Micros> {
        let hangover = match assign.reason {
            None => Micros::ZERO,
            Some(Reason::IsFinal) => Micros(scheduler.hangover_manual.micros()),
            Some(Reason::Pause | Reason::Timeout | Reason::MaxDuration | Reason::MaxLength) => {
                return None;
            }
        };
        let span = now - assign.sent;
        record(&mut self.dispatch, span);
        record(&mut self.dispatch_net, span - hangover);
        Some(span)
    }

    pub(super) fn answered(&mut self, now: Micros, last: &Final) {
        record(&mut self.response, now - last.sent);
        if self.waits {
            record(&mut self.wait, last.waited);
        }
    }

    pub(super) fn store(&mut self, span: Micros) {
        record(&mut self.store, span);
    }

    /// The histograms by name.
    pub(crate) fn into_map(self) -> BTreeMap<&'static str, Histogram<u64>> {
        BTreeMap::from([
            ("dispatch", self.dispatch),
            ("dispatch_net", self.dispatch_net),
            ("response", self.response),
            ("wait", self.wait),
            ("store", self.store),
        ])
    }
}

fn record(histogram: &mut Histogram<u64>, span: Micros) {
    summary::record_ns(histogram, span.0.saturating_mul(1_000));
}
