//! Where log lines go: to standard error, as text or as JSON, never in the way of the scheduler.
//!
//! Lines wait in a bounded queue for a thread of their own. When whoever reads them is slow, lines
//! are lost and the loss is told; no session waits.

use std::io::{self, Write};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use lingua_duties::zookeeper;
use tracing::Subscriber;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::{Registry, fmt};

/// Lines that wait to be written.
const WAITING_MAX: usize = 8_192;

/// Longest wait at the end for the last lines.
const FLUSH: Duration = Duration::from_secs(2);

/// How lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// Which lines are written, and how they look.
#[derive(Debug, Clone)]
pub struct LogConfig {
    /// `error`, `warn`, `info`, `debug`, `trace` or `off`, also by target:
    /// `info,lingua_server=debug`.
    pub level: LogLevel,
    /// Text or JSON.
    pub format: LogFormat,
}

impl Default for LogConfig {
    fn default() -> Self {
        Self { level: "info".parse().expect("info is a level"), format: LogFormat::Text }
    }
}

/// Levels by target.
#[derive(Debug, Clone)]
pub struct LogLevel {
    text: String,
    targets: Targets,
}

/// Text that names no level.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{0}` is no log level: write error, warn, info, debug, trace or off, or further ones by \
     target, such as info,lingua_server=debug"
)]
pub struct LogLevelError(String);

impl FromStr for LogLevel {
    type Err = LogLevelError;

    fn from_str(text: &str) -> Result<Self, LogLevelError> {
        let wrong = || LogLevelError(text.chars().take(40).collect());
        let mut targets: Targets = text.parse().map_err(|_| wrong())?;
        // A lone word that is no level is read as a target, whose lines would all be shown.
        let levels = ["error", "warn", "info", "debug", "trace", "off"];
        let known = |part: &str| part.contains('=') || levels.contains(&part);
        // Its every attempt would be a line; what has come of them is told by whoever needs it.
        if !text.contains(zookeeper::CLIENT) {
            targets = targets.with_target(zookeeper::CLIENT, LevelFilter::OFF);
        }
        if text.split(',').all(|part| known(part.trim())) {
            Ok(Self { text: text.to_owned(), targets })
        } else {
            Err(wrong())
        }
    }
}

impl std::fmt::Display for LogLevel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

/// Formats lines and gives them to `writer`.
pub fn subscriber<W>(config: &LogConfig, writer: W) -> Box<dyn Subscriber + Send + Sync>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let lines = fmt::layer().with_writer(writer).with_target(false).with_ansi(false);
    let levels = config.level.targets.clone();
    match config.format {
        LogFormat::Text => Box::new(Registry::default().with(lines.with_filter(levels))),
        LogFormat::Json => {
            let lines =
                lines.json().flatten_event(true).with_current_span(false).with_span_list(false);
            Box::new(Registry::default().with(lines.with_filter(levels)))
        }
    }
}

enum Entry {
    Line(Box<[u8]>),
    Flush(SyncSender<()>),
}

/// Puts lines into the queue.
#[derive(Clone)]
struct Queue {
    entries: SyncSender<Entry>,
    lost: Arc<AtomicU64>,
}

impl Write for Queue {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.entries.try_send(Entry::Line(line.into())).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes what is left when it is dropped.
#[must_use = "the last lines are written when it is dropped"]
pub struct Logs(SyncSender<Entry>);

impl Drop for Logs {
    fn drop(&mut self) {
        let (done, written) = sync_channel(1);
        if self.0.try_send(Entry::Flush(done)).is_ok() {
            // Lines that nobody takes in this time are lost.
            let _ = written.recv_timeout(FLUSH);
        }
    }
}

/// Sends the log lines of this process to standard error from here on.
///
/// # Errors
/// The thread that writes cannot be started, or lines go elsewhere already.
pub fn start(config: &LogConfig) -> io::Result<Logs> {
    let (entries, waiting) = sync_channel(WAITING_MAX);
    let queue = Queue { entries: entries.clone(), lost: Arc::default() };
    let lost = queue.lost.clone();
    std::thread::Builder::new().name("log".into()).spawn(move || write_all(&waiting, &lost))?;
    let subscriber = subscriber(config, move || queue.clone());
    tracing::subscriber::set_global_default(subscriber).map_err(io::Error::other)?;
    Ok(Logs(entries))
}

fn write_all(waiting: &Receiver<Entry>, lost: &AtomicU64) {
    let mut out = io::stderr();
    while let Ok(entry) = waiting.recv() {
        // Nobody is left to be told that standard error is gone.
        let _ = match entry {
            Entry::Line(line) => out.write_all(&line),
            Entry::Flush(done) => {
                let _ = done.try_send(());
                out.flush()
            }
        };
        match lost.swap(0, Ordering::Relaxed) {
            0 => {}
            lines => drop(writeln!(out, "{lines} log lines were lost: they came too fast")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_read_and_others_refused() {
        for level in ["off", "warn", "info,lingua_server=debug"] {
            assert_eq!(level.parse::<LogLevel>().unwrap().to_string(), level);
        }
        for wrong in ["", "inf", "verbose", "info,lingua"] {
            assert!(wrong.parse::<LogLevel>().is_err(), "{wrong}");
        }
    }
}
