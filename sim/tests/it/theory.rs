//! Rows of the theory table: the exact ones, and a few of each estimated kind.

use lingua_sim::theory::{Model, TABLE, rows};

use crate::run;

#[test]
fn the_simulator_hits_what_theory_knows() {
    let (mut far, mut unusual, mut count) = (Vec::new(), 0, 0);
    let mut of_model = std::collections::BTreeMap::new();
    for row in rows(TABLE).unwrap().into_iter().filter(|row| row.is_test) {
        let seen: &mut u32 = of_model.entry(row.model.name()).or_default();
        *seen += 1;
        let exact = row.value_se == 0.0 && row.model != Model::TwoLevel;
        let slow = row.params.contains("d=1") || row.params.contains("c=1000");
        if slow || !(exact || *seen % 6 == 1) {
            continue;
        }
        let Some(scenario) = row.scenario(60_000.0, 300).unwrap() else { continue };
        let finished = run(&scenario);
        let found = row.found(&finished);
        let z = row.z(found);
        count += 1;
        unusual += u32::from(z.abs() > 2.0);
        if z.abs() > 3.5 {
            far.push(format!("{} {}: {found:?}, z {z:.1}", row.model.name(), row.params));
        }
    }
    assert!(count > 40, "{count} rows");
    assert!(far.is_empty(), "{far:#?}");
    assert!(unusual * 10 <= count, "{unusual} of {count} rows are beyond two standard errors");
}
