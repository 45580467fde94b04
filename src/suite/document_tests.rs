#[test]
fn probe() {
    let text = std::fs::read_to_string("/tmp/probe.toml").unwrap();
    for part in text.split("=====\n") {
        println!("-----\n{part}-----");
        match super::parse("s", "suites/s.toml", part) {
            Ok(s) => {
                for t in &s.tests {
                    println!(
                        "OK {} {:?} {:?} {}\n   {:?}",
                        t.full_name(),
                        t.workload.legs,
                        t.workload.engine,
                        t.text,
                        t.gates
                            .iter()
                            .map(|(m, g)| format!("{m} {g:?}"))
                            .collect::<Vec<_>>()
                    );
                }
            }
            Err(e) => {
                for e in e {
                    println!("{e}");
                }
            }
        }
    }
}
