//! I3: the same request and attempt get the same answer, however often they ask.

use std::collections::VecDeque;

use lingua_core::{Dispatch, Dispatched, Grant, LookupMap, Micros, Outcome, RequestId};

use super::Broken;

/// Answers remembered: a step is repeated within seconds or not at all.
const REMEMBERED: usize = 1 << 16;

/// The latest answers given, by request.
#[derive(Debug, Default)]
pub(super) struct Answers {
    given: LookupMap<RequestId, (u32, Grant)>,
    order: VecDeque<RequestId>,
}

impl Answers {
    pub(super) fn check(&mut self, now: Micros, d: &Dispatch, got: &Dispatched) -> Option<Broken> {
        match got.outcome {
            Outcome::Granted(grant) => {
                let former = self.remember(d, grant);
                match former {
                    Some((attempt, before)) if attempt == d.attempt && before != grant => {
                        Some(broken(now, d, before, grant))
                    }
                    _ => None,
                }
            }
            Outcome::Repeated(grant) => match self.given.get(&d.request) {
                Some(&(attempt, before)) if attempt == d.attempt && before != grant => {
                    Some(broken(now, d, before, grant))
                }
                _ => None,
            },
            Outcome::Superseded | Outcome::Refused(_) => None,
        }
    }

    fn remember(&mut self, d: &Dispatch, grant: Grant) -> Option<(u32, Grant)> {
        if self.order.len() == REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.given.remove(&oldest);
        }
        self.order.push_back(d.request);
        self.given.insert(d.request, (d.attempt, grant))
    }
}

fn broken(now: Micros, d: &Dispatch, before: Grant, after: Grant) -> Broken {
    let (request, attempt) = (d.request, d.attempt);
    let message = format!("{request:?} attempt {attempt} got {before:?}, then {after:?}");
    Broken::new("I3", now, message)
}
