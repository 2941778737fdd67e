//! Numbers as people read them, the same everywhere.

/// A count with thousands apart: `1,234,567`.
pub fn count(value: u64) -> String {
    group(&value.to_string())
}

/// Three significant digits, whole from a thousand on: `0.00421`, `3.14`, `12,300`.
pub fn decimal(value: f64) -> String {
    if !value.is_finite() {
        return if value > 0.0 { "∞".into() } else { "–".into() };
    }
    let size = value.abs();
    let shown = if size == 0.0 {
        return "0".into();
    } else if size >= 99.95 {
        format!("{value:.0}")
    } else if size >= 9.995 {
        format!("{value:.1}")
    } else if size >= 0.9995 {
        format!("{value:.2}")
    } else if size >= 0.1 {
        format!("{value:.3}")
    } else if size >= 1e-6 {
        let digits = -libm::floor(libm::log10(size)) as usize + 2;
        format!("{value:.digits$}")
    } else {
        format!("{value:.1e}")
    };
    group(&shown)
}

/// A ratio as a percentage: `0.02 %`, `12.5 %`, `0 %`.
pub fn percent(ratio: f64) -> String {
    let value = ratio * 100.0;
    if !value.is_finite() {
        "–".into()
    } else if value == 0.0 {
        "0 %".into()
    } else if value.abs() >= 9.995 {
        format!("{value:.1} %")
    } else if value.abs() >= 0.00995 {
        format!("{value:.2} %")
    } else {
        format!("{} %", two_digits(value))
    }
}

/// Milliseconds: `4.21 ms`, from ten seconds on `12.3 s`.
pub fn ms(value: f64) -> String {
    if value >= 10_000.0 {
        format!("{} s", decimal(value / 1000.0))
    } else {
        format!("{} ms", decimal(value))
    }
}

/// Rising numbers as ranges: `1..20`, `1..3, 7`.
pub fn ranges(numbers: &[u64]) -> String {
    let runs = numbers.chunk_by(|a, b| a.checked_add(1) == Some(*b));
    let shown = runs.map(|run| match run {
        [first, .., last] => format!("{first}..{last}"),
        _ => run[0].to_string(),
    });
    shown.collect::<Vec<_>>().join(", ")
}

/// `one node`, `2 nodes`: a count with its noun in the right number.
pub fn counted(value: u64, noun: &str) -> String {
    let ending = if value == 1 { "" } else { "s" };
    format!("{} {noun}{ending}", count(value))
}

/// Two significant digits of a small value.
fn two_digits(value: f64) -> String {
    if value.abs() < 1e-6 {
        return format!("{value:.1e}");
    }
    let digits = -libm::floor(libm::log10(value.abs())) as usize + 1;
    format!("{value:.digits$}")
}

/// Puts commas between thousands of the whole part.
fn group(digits: &str) -> String {
    let whole = digits.find(['.', 'e']).unwrap_or(digits.len());
    let (sign, start) = if digits.starts_with('-') { ("-", 1) } else { ("", 0) };
    let mut shown = String::from(sign);
    for (i, digit) in digits[start..whole].chars().enumerate() {
        if i > 0 && (whole - start - i).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown.push_str(&digits[whole..]);
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        let shown = [0.0, 0.004213, 0.5, 3.1418, 42.0, 99.96, 812.4, 12345.6, -1234567.0, 2e-9];
        let shown: Vec<String> = shown.into_iter().map(decimal).collect();
        assert_eq!(
            shown,
            [
                "0",
                "0.00421",
                "0.500",
                "3.14",
                "42.0",
                "100",
                "812",
                "12,346",
                "-1,234,567",
                "2.0e-9"
            ]
        );
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(count(12), "12");
    }

    #[test]
    fn percentages_and_times() {
        let shown: Vec<String> =
            [0.0, 0.0002, 0.125, 0.9, 0.0000031, 1.0].into_iter().map(percent).collect();
        assert_eq!(shown, ["0 %", "0.02 %", "12.5 %", "90.0 %", "0.00031 %", "100.0 %"]);
        assert_eq!(ms(4.213), "4.21 ms");
        assert_eq!(ms(12345.0), "12.3 s");
        assert_eq!(counted(1, "node"), "1 node");
    }
}
