//! Scenarios of duties: what they may say, and the exact words where they may not.

use lingua_scenarios::Scenario;

const FILE: &str = r#"title = "fine"
duration = "60s"

[duties]
count = 20
instances = 3
tolerances = [1, 1, 2, 3]
lease = "10s"
tick = "2s"
run = "5s"

[[faults]]
kind = "instance-join"
at = "10s"

[[faults]]
kind = "instance-freeze"
instance = 3
at = "20s"
for = "15s"
"#;

/// Each is one spoilt piece of the file: what stands there, and what is put there.
const SPOILT: &[(&str, &str)] = &[
    ("count = 20", "count = 0"),
    ("count = 20", "count = 20000"),
    ("count = 20", "cuont = 20"),
    ("instances = 3", "instances = 0"),
    ("[1, 1, 2, 3]", "[1, 1, 2]"),
    ("[1, 1, 2, 3]", "[1, 0, 2, 3]"),
    ("[1, 1, 2, 3]", "[1, -1, 2, 3]"),
    ("[1, 1, 2, 3]", "[1, 1, 2, 3]\ntolerance = 2"),
    ("tolerances = [1, 1, 2, 3]", "tolerance = 0"),
    ("tolerances = [1, 1, 2, 3]", "event_loss = 1.5"),
    ("lease = \"10s\"", "lease = \"4s\""),
    ("tick = \"2s\"", "tick = \"0s\""),
    ("run = \"5s\"", "run = \"0s\""),
    ("run = \"5s\"", "run = \"10us\"\npause = \"10us\""),
    ("instance = 3", "instance = 4"),
    ("for = \"15s\"", ""),
    ("for = \"15s\"", "for = \"50s\""),
    ("\"instance-freeze\"", "\"instance-freze\""),
    ("\"instance-freeze\"", "\"store-stall\""),
    ("kind = \"instance-join\"", "kind = \"instance-join\"\ninstance = 1"),
    ("title = \"fine\"", "plant = \"I4\""),
    ("[duties]", "[[nodes]]\nasr = [\"zh\"]\ntts = [\"en\"]\n\n[duties]"),
    ("[duties]", "[[arrivals]]\npair = \"zh:en\"\nrate = \"1/s\"\n\n[duties]"),
    ("[duties]", "[swarm]\npolicies = [\"power-of-d\"]\n\n[duties]"),
    ("[duties]", "[swarm]\nkinds = [\"partition\", \"node-crash\"]\n\n[duties]"),
];

#[test]
fn each_message_names_place_value_and_mend() {
    FILE.parse::<Scenario>().unwrap_or_else(|error| panic!("{error}"));
    let mut all = String::new();
    for (from, to) in SPOILT {
        let text = FILE.replacen(from, to, 1);
        assert_ne!(text, FILE, "nothing was spoilt: {from}");
        let error = text.parse::<Scenario>().expect_err(to).to_string();
        all.push_str(&format!("{from:?} -> {to:?}\n{error}\n\n"));
    }
    insta::assert_snapshot!(all);
}

#[test]
fn what_strikes_duties_needs_duties() {
    let nodes = "duration = \"60s\"\nwarmup = \"1s\"\n[[nodes]]\nasr = [\"zh\"]\ntts = [\"en\"]\n";
    nodes.parse::<Scenario>().unwrap_or_else(|error| panic!("{error}"));
    for kind in ["instance-freeze", "instance-join", "instance-drain"] {
        let text = format!("{nodes}[[faults]]\nkind = \"{kind}\"\nat = \"9s\"\nfor = \"9s\"\n");
        let error = text.parse::<Scenario>().expect_err(kind).to_string();
        assert!(error.contains(&format!("{kind} strikes duties: add [duties]")), "{error}");
    }
    for plant in ["I8", "coverage", "limit"] {
        let error = format!("plant = \"{plant}\"\n{nodes}").parse::<Scenario>();
        let error = error.expect_err(plant).to_string();
        assert!(error.contains("breaks something among duties: add [duties]"), "{error}");
    }
}

/// As many deaths tolerated as there are instances is legal: each has room for all.
#[test]
fn a_tolerance_of_all_instances_is_legal() {
    let text = FILE.replacen("[1, 1, 2, 3]", "[4, 4, 9, 1000]", 1);
    text.parse::<Scenario>().unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn any_number_may_join_at_once() {
    let join = "[[faults]]\nkind = \"instance-join\"\nat = \"10s\"\n\n";
    let text = FILE.replacen("[[faults]]", &format!("{join}[[faults]]"), 1);
    let text = text.replacen("tolerances = [1, 1, 2, 3]", "tolerance = 1", 1);
    let scenario = text.parse::<Scenario>().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(scenario.instances(), 5);
}
