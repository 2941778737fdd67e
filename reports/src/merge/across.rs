//! Jobs between shards, of which each shard saw one end.

use crate::load::Load;
use crate::run::Jobs;

/// Holds what sessions heard from other shards' nodes against what these answered. Utterances that
/// their own shard saw no answer to are lost as far as a node elsewhere had answered.
///
/// Gives the number of answers that no node of any shard has made.
pub(super) fn settle(load: &mut Load, jobs: &mut Jobs) -> u64 {
    let unheard = load.across.answered.saturating_sub(load.across.heard);
    if let Some(unanswered) = load.findings.get_mut("never_answered") {
        let no_answer = load.timed_out_by_cause.entry("no answer".to_owned()).or_default();
        let lost = unheard.min(*unanswered).min(*no_answer).min(jobs.timed_out);
        for count in [&mut *unanswered, no_answer, &mut jobs.timed_out] {
            *count -= lost;
        }
        jobs.lost += lost;
        load.findings.retain(|_, count| *count > 0);
        load.timed_out_by_cause.retain(|_, count| *count > 0);
    }
    let invented = load.across.heard.saturating_sub(load.across.answered);
    if invented > 0 {
        *load.findings.entry("unknown_result".to_owned()).or_default() += invented;
    }
    invented
}
