//! The HdrHistogram interval log (v1.3, V2 deflate), readable by the original tools.

use std::io::{self, Write as _};
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::interval_log::{
    IntervalLogIterator, IntervalLogWriterBuilder, IntervalLogWriterError, LogEntry,
};
use hdrhistogram::serialization::{Deserializer, V2DeflateSerializer};

use crate::summary::latency_histogram;

/// Why a log cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HlogError {
    /// Not a log.
    #[error("it is no histogram log ({0})")]
    Log(String),
    /// An interval that holds no histogram of ours.
    #[error("interval {interval}: {what}")]
    Interval {
        /// Which one, from 1.
        interval: usize,
        /// What is wrong with it.
        what: String,
    },
}

/// One histogram in nanoseconds as a log of one interval, from `start_s` on for `length_s`.
///
/// The log starts at time zero: virtual time has no date, and equal runs must give equal bytes.
pub fn bytes(histogram: &Histogram<u64>, start_s: f64, length_s: f64) -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    // The writer takes its header before the legend; the original tools write the legend last.
    let mut builder = IntervalLogWriterBuilder::new();
    builder
        .add_comment("[Histogram log format version 1.3]")
        .with_start_time(SystemTime::UNIX_EPOCH)
        .begin_log_with(&mut out, &mut serializer)?;
    out.write_all(
        b"\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n",
    )?;
    let body = IntervalLogWriterBuilder::new();
    let mut log = body.begin_log_with(&mut out, &mut serializer)?;
    log.write_histogram(histogram, seconds(start_s), seconds(length_s), None).map_err(|error| {
        match error {
            IntervalLogWriterError::IoError(error) => error,
            IntervalLogWriterError::SerializeError(error) => io::Error::other(error.to_string()),
        }
    })?;
    Ok(out)
}

/// Reads a log back, all its intervals added up; nothing is an empty histogram.
///
/// # Errors
/// The text is no log, or an interval does not hold nanoseconds up to an hour.
pub fn read(log: &[u8]) -> Result<Histogram<u64>, HlogError> {
    // The reader of the library does not know the legend that the original tools write.
    let lines = log.split_inclusive(|byte| *byte == b'\n').filter(|line| !line.starts_with(b"\""));
    let log = lines.collect::<Vec<_>>().concat();
    let mut whole = latency_histogram();
    let mut deserializer = Deserializer::new();
    let mut interval = 0;
    for entry in IntervalLogIterator::new(&log) {
        let entry = entry.map_err(|error| HlogError::Log(format!("{error:?}")))?;
        let LogEntry::Interval(found) = entry else { continue };
        interval += 1;
        let wrong = |what: String| HlogError::Interval { interval, what };
        let coded = STANDARD.decode(found.encoded_histogram());
        let coded = coded.map_err(|error| wrong(error.to_string()))?;
        let part: Histogram<u64> = deserializer
            .deserialize(&mut coded.as_slice())
            .map_err(|error| wrong(error.to_string()))?;
        whole.add(&part).map_err(|error| wrong(error.to_string()))?;
    }
    Ok(whole)
}

fn seconds(value: f64) -> Duration {
    Duration::try_from_secs_f64(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn it_reads_back_as_it_was() {
        let artifacts = fixture::artifacts();
        let histogram = &artifacts.histograms["dispatch_net"];
        let log = bytes(histogram, 60.0, 600.0).unwrap();
        let text = String::from_utf8(log.clone()).unwrap();
        assert!(text.starts_with(
            "#[Histogram log format version 1.3]\n\
             #[StartTime: 0.000 (seconds since epoch)]\n\"StartTimestamp\","
        ));
        assert!(text.contains("\n60.000,600.000,"), "{text}");
        assert_eq!(&read(&log).unwrap(), histogram);
    }

    #[test]
    fn intervals_add_up() {
        let artifacts = fixture::artifacts();
        let (a, b) = (&artifacts.histograms["dispatch"], &artifacts.histograms["response"]);
        let mut log = bytes(a, 0.0, 1.0).unwrap();
        log.extend(bytes(b, 1.0, 1.0).unwrap());
        let mut both = a.clone();
        both.add(b).unwrap();
        assert_eq!(read(&log).unwrap(), both);
        assert_eq!(read(b"").unwrap().len(), 0);
    }

    #[test]
    fn what_is_no_log_is_refused() {
        assert!(matches!(read(b"hello\n"), Err(HlogError::Log(_))));
        let interval = b"0.000,1.000,1.000,HISTFAAA\n";
        assert!(matches!(read(interval), Err(HlogError::Interval { interval: 1, .. })));
    }
}
