//! Sums per batch: consecutive parts of the counted span, nearly independent of each other.

use lingua_core::Micros;
use lingua_core::instance::{Ending, Final};

/// How many batches a run is cut into.
const BATCHES: usize = 20;

/// Sums of one batch.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Batch {
    /// Jobs offered.
    pub offered: u64,
    /// Of them refused.
    pub refused: u64,
    /// Of them answered.
    pub answered: u64,
    /// Sum of the times from sent to answered, seconds.
    pub response_s: f64,
    /// Of them answered after a wait for a slot.
    pub waited: u64,
    /// Sum of the waits, seconds.
    pub wait_s: f64,
}

/// Sums per batch of the counted part.
#[derive(Debug, Clone, PartialEq)]
pub struct Batches {
    start: Micros,
    span: Micros,
    batches: [Batch; BATCHES],
}

impl Batches {
    pub(crate) fn new(start: Micros, end: Micros) -> Self {
        let span = Micros(((end - start).0 / BATCHES as u64).max(1));
        Self { start, span, batches: [Batch::default(); BATCHES] }
    }

    fn at(&mut self, offered: Micros) -> &mut Batch {
        let batch = ((offered - self.start).0 / self.span.0) as usize;
        &mut self.batches[batch.min(BATCHES - 1)]
    }

    pub(crate) fn offered(&mut self, now: Micros) {
        self.at(now).offered += 1;
    }

    pub(crate) fn ended(&mut self, offered: Micros, response: Micros, last: &Final) {
        let batch = self.at(offered);
        match last.ending {
            Ending::Refused(_) => batch.refused += 1,
            Ending::Answered => {
                batch.answered += 1;
                batch.response_s += response.as_secs_f64();
                batch.waited += u64::from(last.waited > Micros::ZERO);
                batch.wait_s += last.waited.as_secs_f64();
            }
            Ending::Silence | Ending::Merged | Ending::Failed(_) | Ending::TimedOut => {}
        }
    }

    /// All batches in order of time.
    pub fn all(&self) -> &[Batch] {
        &self.batches
    }

    /// One ratio per batch; batches without a denominator are left out.
    pub fn ratios(&self, ratio: impl Fn(&Batch) -> (f64, f64)) -> Vec<f64> {
        let ratios = self.batches.iter().map(ratio).filter(|&(_, below)| below > 0.0);
        ratios.map(|(above, below)| above / below).collect()
    }
}

/// Standard error of a mean of batches; zero of fewer than two.
pub(crate) fn standard_error(batches: &[f64]) -> f64 {
    if batches.len() < 2 {
        return 0.0;
    }
    libm::sqrt(lingua_reports::stats::variance(batches) / batches.len() as f64)
}
