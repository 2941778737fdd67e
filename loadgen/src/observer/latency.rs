//! Latencies, in nanoseconds, as histograms.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use lingua_reports::summary;

use crate::pacer::Nanos;

/// All histograms of a run.
#[derive(Debug)]
pub(crate) struct Latencies {
    dispatch: Histogram<u64>,
    dispatch_net: Histogram<u64>,
    response: Histogram<u64>,
    service: Histogram<u64>,
    send_lag: Histogram<u64>,
    // The part of it that is the generator's own fault.
    own_lag: Histogram<u64>,
}

impl Latencies {
    pub(super) fn new() -> Self {
        Self {
            dispatch: summary::latency_histogram(),
            dispatch_net: summary::latency_histogram(),
            response: summary::latency_histogram(),
            service: summary::latency_histogram(),
            send_lag: summary::latency_histogram(),
            own_lag: summary::latency_histogram(),
        }
    }

    /// A chunk that could have been sent at `ready`, the plan and its socket permitting.
    pub(super) fn sent(&mut self, intended: Nanos, ready: Nanos, sent: Nanos) {
        summary::record_ns(&mut self.send_lag, sent.saturating_sub(intended));
        summary::record_ns(&mut self.own_lag, sent.saturating_sub(ready));
    }

    /// How late 99 % of chunks were at most by the generator's own fault.
    pub(crate) fn own_lag_p99(&self) -> Nanos {
        self.own_lag.value_at_quantile(0.99)
    }

    /// How late the latest chunk was by the generator's own fault.
    pub(crate) fn own_lag_max(&self) -> Nanos {
        self.own_lag.max()
    }

    pub(super) fn dispatched(&mut self, span: Nanos, hangover: Nanos) {
        summary::record_ns(&mut self.dispatch, span);
        summary::record_ns(&mut self.dispatch_net, span.saturating_sub(hangover));
    }

    pub(super) fn answered(&mut self, intended: Nanos, sent: Option<Nanos>, at: Nanos) {
        summary::record_ns(&mut self.response, at.saturating_sub(intended));
        if let Some(sent) = sent {
            summary::record_ns(&mut self.service, at.saturating_sub(sent));
        }
    }

    /// The histograms by name.
    pub(crate) fn into_map(self) -> BTreeMap<&'static str, Histogram<u64>> {
        BTreeMap::from([
            ("dispatch", self.dispatch),
            ("dispatch_net", self.dispatch_net),
            ("response", self.response),
            ("service", self.service),
            ("send_lag", self.send_lag),
        ])
    }
}
