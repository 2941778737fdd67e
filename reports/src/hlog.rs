//! The HdrHistogram interval log (v1.3, V2 deflate), readable by the original tools.

use std::io::{self, Write as _};
use std::time::{Duration, SystemTime};

use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, IntervalLogWriterError};

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

fn seconds(value: f64) -> Duration {
    Duration::try_from_secs_f64(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use hdrhistogram::serialization::Deserializer;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

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
        // The reader of this crate does not know the legend that the original tools write.
        let intervals: String =
            text.lines().filter(|l| !l.starts_with('"')).collect::<Vec<_>>().join("\n");
        let intervals = intervals + "\n";
        let interval = IntervalLogIterator::new(intervals.as_bytes())
            .find_map(|entry| match entry {
                Ok(LogEntry::Interval(interval)) => Some(interval),
                _ => None,
            })
            .unwrap();
        assert_eq!(interval.start_timestamp(), Duration::from_secs(60));
        let raw = base64_decode(interval.encoded_histogram());
        let read: Histogram<u64> = Deserializer::new().deserialize(&mut raw.as_slice()).unwrap();
        assert_eq!(&read, histogram);
    }

    /// Enough of base64 to read a log in a test.
    fn base64_decode(text: &str) -> Vec<u8> {
        let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut bits = 0_u32;
        let (mut held, mut out) = (0, Vec::new());
        for byte in text.bytes().filter(|b| *b != b'=') {
            bits = bits << 6 | alphabet.iter().position(|a| *a == byte).unwrap() as u32;
            held += 6;
            if held >= 8 {
                held -= 8;
                out.push((bits >> held) as u8);
                bits &= (1 << held) - 1;
            }
        }
        out
    }
}
