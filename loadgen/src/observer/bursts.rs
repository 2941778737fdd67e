//! How evenly frames leave: peaks over means per bin.

use lingua_reports::load::Burstiness;

use crate::pacer::Nanos;

/// Frames per bin of one width.
#[derive(Debug)]
struct Bins {
    width: Nanos,
    bin: u64,
    frames: u64,
    peak: u64,
}

impl Bins {
    fn new(width: Nanos) -> Self {
        Self { width, bin: 0, frames: 0, peak: 0 }
    }

    fn add(&mut self, at: Nanos) {
        let bin = at / self.width;
        if bin != self.bin {
            (self.bin, self.frames) = (bin, 0);
        }
        self.frames += 1;
        self.peak = self.peak.max(self.frames);
    }

    fn peak_over_mean(&self, frames: u64, span: Nanos) -> f64 {
        let mean = frames as f64 / (span as f64 / self.width as f64);
        if mean > 0.0 { self.peak as f64 / mean } else { 0.0 }
    }
}

/// All frames of the counted part.
#[derive(Debug)]
pub(crate) struct Bursts {
    frames: u64,
    fine: Bins,
    coarse: Bins,
}

impl Bursts {
    pub(super) fn new() -> Self {
        Self { frames: 0, fine: Bins::new(1_000_000), coarse: Bins::new(10_000_000) }
    }

    pub(super) fn add(&mut self, at: Nanos) {
        self.frames += 1;
        self.fine.add(at);
        self.coarse.add(at);
    }

    /// Peaks over means within a span of this length.
    pub(crate) fn over(&self, span: Nanos) -> Burstiness {
        Burstiness {
            peak_over_mean_1ms: self.fine.peak_over_mean(self.frames, span),
            peak_over_mean_10ms: self.coarse.peak_over_mean(self.frames, span),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_shows_in_the_fine_bins_first() {
        let mut bursts = Bursts::new();
        for ms in 0..1_000 {
            bursts.add(ms * 1_000_000);
        }
        assert_eq!(bursts.over(1_000_000_000).peak_over_mean_1ms, 1.0);
        let mut bursts = Bursts::new();
        for ms in 0..100 {
            (0..10).for_each(|n| bursts.add(ms * 10_000_000 + n));
        }
        let over = bursts.over(1_000_000_000);
        assert_eq!((over.peak_over_mean_1ms, over.peak_over_mean_10ms), (10.0, 1.0));
    }
}
