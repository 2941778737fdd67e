//! What a run of duties says.

use super::{KeyFigure, Tone};
use crate::duties::{Duties, Episode};
use crate::number::{count, counted, decimal};
use crate::table::{Align, Cell, Table};

/// Instances listed one by one.
const INSTANCES_SHOWN: usize = 24;
/// Episodes listed one by one.
const EPISODES_SHOWN: usize = 40;

/// The whole run in a sentence or two.
pub(super) fn headline(d: &Duties) -> String {
    let among = counted(d.instances.len() as u64, "instance");
    let mut text = format!("{} among {among}; ", counted_duties(d.count));
    text += &if d.longest_unheld_s > 0.0 {
        format!(
            "the longest time that one was nobody's is {} s, and all are held again {} s after a \
             fault at the latest",
            decimal(d.longest_unheld_s),
            decimal(d.all_held_again_s)
        )
    } else {
        "none was nobody's after the start".to_owned()
    };
    text += &match d.unheld_at_end {
        0 => ".".to_owned(),
        n => format!("; {} nobody's at the end.", count(n)),
    };
    text
}

pub(super) fn key_figures(d: &Duties) -> Vec<KeyFigure> {
    let figure = |name, value: String, note: String, tone| KeyFigure { name, value, note, tone };
    let good = |fine: bool, otherwise| if fine { Tone::Good } else { otherwise };
    let up = d.instances.iter().filter(|row| row.held > 0).count() as u64;
    let (w, e) = (&d.writes, &d.events);
    vec![
        figure(
            "held at the end",
            format!("{} of {}", count(d.count - d.unheld_at_end.min(d.count)), count(d.count)),
            format!("by {}", counted(up, "instance")),
            good(d.unheld_at_end == 0, Tone::Warn),
        ),
        figure(
            "longest unheld",
            format!("{} s", decimal(d.longest_unheld_s)),
            "of one duty, after everything was held once".into(),
            Tone::Plain,
        ),
        figure(
            "all held again",
            format!("{} s", decimal(d.all_held_again_s)),
            "after a fault, the longest".into(),
            Tone::Plain,
        ),
        figure(
            "balance",
            format!("{} × mean", decimal(d.max_over_mean)),
            format!("fullest instance at the end; {} moved", counted_duties(d.moves)),
            Tone::Plain,
        ),
        figure(
            "stale writes",
            format!("{} refused", count(w.stale)),
            format!(
                "under a token that was no longer the holder's; {} accepted, {} never arrived",
                count(w.accepted),
                count(w.lost)
            ),
            Tone::Plain,
        ),
        figure(
            "events",
            format!("{} lost", count(e.lost)),
            format!("of {} sent; {} overtaken by a later one", count(e.sent), count(e.overtaken)),
            Tone::Plain,
        ),
        figure(
            "memberships",
            format!("{} lapsed", count(d.lapses)),
            format!("of {} that began; {}", count(d.joins), counted(d.steps, "step")),
            Tone::Plain,
        ),
        figure(
            "alarms",
            count(d.alarms),
            "an instance held more than its threshold".into(),
            good(d.alarms == 0, Tone::Warn),
        ),
    ]
}

/// A row per instance.
pub fn duties_table(duties: &Duties) -> Table {
    let right = |name| (name, Align::Right);
    let mut table = Table::new(&[
        right("instance"),
        ("at the end", Align::Left),
        right("tolerance"),
        right("held"),
        right("limit"),
        right("most"),
        right("mean"),
        right("acquired"),
        right("alarms"),
    ]);
    for row in duties.instances.iter().take(INSTANCES_SHOWN) {
        table.row([
            Cell::from(row.instance),
            Cell::from(row.state.as_str()),
            Cell::from(row.tolerance),
            Cell::from(row.held),
            Cell::from(row.limit),
            Cell::from(row.most),
            Cell::decimal(row.mean),
            Cell::from(row.acquired),
            Cell::from(row.alarms),
        ]);
    }
    table
}

/// A row for the start and for each disturbance.
pub fn episodes_table(duties: &Duties) -> Table {
    let right = |name| (name, Align::Right);
    let mut table = Table::new(&[
        right("at, s"),
        ("what", Align::Left),
        right("nobody's, most"),
        right("longest, s"),
        right("all held after, s"),
        right("moved"),
    ]);
    for episode in duties.episodes.iter().take(EPISODES_SHOWN) {
        table.row([
            Cell::decimal(episode.at_s),
            Cell::from(episode.what.as_str()),
            Cell::from(episode.unheld_most),
            Cell::decimal(episode.longest_unheld_s),
            all_held(episode),
            Cell::from(episode.moves),
        ]);
    }
    table
}

fn all_held(episode: &Episode) -> Cell {
    episode.all_held_s.map_or_else(|| Cell::new("never", ""), Cell::decimal)
}

fn counted_duties(n: u64) -> String {
    if n == 1 { "1 duty".to_owned() } else { format!("{} duties", count(n)) }
}
