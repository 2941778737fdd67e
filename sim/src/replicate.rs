//! Many runs at once: one thread per run, never one run on several threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use lingua_core::Micros;
use lingua_scenarios::Scenario;

use crate::{Finished, Progress, Quiet, SimError, simulate};

/// Runs all scenarios on so many threads and gives back the results in the order asked for.
///
/// # Errors
/// The first scenario, in order, that cannot be simulated.
pub fn simulate_all(
    scenarios: &[Scenario],
    sha256: &str,
    threads: usize,
    progress: &mut dyn Progress,
) -> Result<Vec<Finished>, SimError> {
    let one = |at: usize, progress: &mut dyn Progress| simulate(&scenarios[at], sha256, progress);
    if threads <= 1 || scenarios.len() <= 1 {
        let mut done = Vec::with_capacity(scenarios.len());
        for at in 0..scenarios.len() {
            let mut part = Part { inner: progress, at, of: scenarios.len() };
            done.push(one(at, &mut part)?);
        }
        return Ok(done);
    }
    let next = AtomicUsize::new(0);
    let finished = AtomicUsize::new(0);
    let results: Mutex<Vec<Option<Result<Finished, SimError>>>> =
        Mutex::new((0..scenarios.len()).map(|_| None).collect());
    let progress = Mutex::new(progress);
    std::thread::scope(|scope| {
        for _ in 0..threads.min(scenarios.len()) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    if at >= scenarios.len() {
                        break;
                    }
                    let result = one(at, &mut Quiet);
                    if let Ok(mut results) = results.lock() {
                        results[at] = Some(result);
                    }
                    let done = finished.fetch_add(1, Ordering::Relaxed) + 1;
                    if let Ok(mut progress) = progress.lock() {
                        progress.at(Micros(done as u64), Micros(scenarios.len() as u64));
                    }
                }
            });
        }
    });
    let results = results.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    results.into_iter().map(|result| result.expect("every run was started")).collect()
}

/// Progress of one of several runs.
struct Part<'a> {
    inner: &'a mut dyn Progress,
    at: usize,
    of: usize,
}

impl Progress for Part<'_> {
    fn at(&mut self, now: Micros, end: Micros) {
        let done = end.0 as u128 * self.at as u128 + now.0 as u128;
        self.inner.at(Micros((done / self.of as u128) as u64), end);
    }
}
