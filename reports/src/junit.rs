//! Expectations as JUnit XML, for build servers.

use std::fmt::Write as _;

use crate::facts;
use crate::run::{Run, Verdict};

/// One test suite per run: a case for each expectation, and one for the verdict.
pub fn xml(runs: &[&Run]) -> String {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    for run in runs {
        suite(&mut out, run);
    }
    out.push_str("</testsuites>\n");
    out
}

fn suite(out: &mut String, run: &Run) {
    let name = escape(&run.scenario.name);
    let unmet = run.expectations.iter().filter(|e| !e.met).count();
    let trusted = !matches!(run.verdict, Verdict::Void | Verdict::InvariantBroken);
    let _ = writeln!(
        out,
        "  <testsuite name=\"{name}\" tests=\"{}\" failures=\"{unmet}\" errors=\"{}\">",
        run.expectations.len() + 1,
        u8::from(!trusted)
    );
    let _ = writeln!(
        out,
        "    <properties><property name=\"seed\" value=\"{}\"/><property name=\"digest\" \
         value=\"{}\"/></properties>",
        run.seed,
        escape(&run.digest)
    );
    let case =
        |title: &str| format!("    <testcase classname=\"{name}\" name=\"{}\"", escape(title));
    if trusted {
        let _ = writeln!(out, "{}/>", case("the run can be trusted"));
    } else {
        let (word, _) = facts::verdict(run.verdict);
        let reasons = escape(&run.reasons.join("\n"));
        let _ = writeln!(
            out,
            "{}>\n      <error message=\"{word}\">{reasons}</error>\n    </testcase>",
            case("the run can be trusted")
        );
    }
    for e in &run.expectations {
        let demand = facts::demand(e);
        if e.met {
            let _ = writeln!(out, "{}/>", case(&demand));
            continue;
        }
        let found =
            e.found.map_or_else(|| "no such value".into(), |value| format!("found {value}"));
        let _ = writeln!(
            out,
            "{}>\n      <failure message=\"{}\"/>\n    </testcase>",
            case(&demand),
            escape(&format!("expected {demand}, {found}"))
        );
    }
    out.push_str("  </testsuite>\n");
}

/// Text safe in XML content and attributes; characters that XML 1.0 forbids are replaced.
pub fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&apos;"),
            '\n' => safe.push_str("&#10;"),
            '\t' => safe.push_str("&#9;"),
            '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            _ => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn expectations_become_cases() {
        insta::assert_snapshot!(xml(&[&fixture::run(), &fixture::bad_run()]));
    }

    #[test]
    fn markup_and_control_characters_are_harmless() {
        assert_eq!(escape("a<b>&\"'\u{1}"), "a&lt;b&gt;&amp;&quot;&apos;\u{fffd}");
    }
}
