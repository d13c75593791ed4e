//! VER: agreeing on a revision.

use super::*;
use crate::protocol::Revision;

fn offering(role: Role, revisions: &[Revision]) -> Config {
    let mut config = config(role);
    config.revisions = revisions.to_vec();
    config
}

// proves: VER-01, VER-02
#[test]
fn ver_02_a_client_offers_its_newest() {
    for revisions in [&Revision::ALL[..1], &Revision::ALL[..3], &Revision::ALL[1..2], Revision::ALL] {
        let mut client = Session::new(offering(Role::Client, revisions)).started();
        let legacy: Vec<_> = revisions.iter().filter(|revision| **revision <= Revision::V2025_11_25).collect();
        let newest = legacy.iter().max().expect("not empty");
        assert_eq!(client.sent_one()["params"]["protocolVersion"], newest.as_str());
    }
}

// proves: VER-03
#[test]
fn ver_03_an_offer_that_is_known_is_taken() {
    let mut server = Session::new(offering(Role::Server, Revision::ALL));
    server.send(client_hello(1, "2024-11-05", &json!({})));
    assert_eq!(server.sent_one()["result"]["protocolVersion"], "2024-11-05");
    assert_eq!(server.engine.revision(), Revision::V2024_11_05);
}

// proves: VER-04, VER-05, VER-08, VER-09
#[test]
fn ver_08_any_other_offer_gets_the_newest_and_never_an_error() {
    let aliens = ["", "draft", "1999-01-01", "2025-99-99", "2099-01-01", "2024-11-05 ", "2024-11-5", "2024-11-05\n"];
    for (revisions, newest) in [(&Revision::ALL[..1], "2024-11-05"), (Revision::ALL, "2025-11-25")] {
        for alien in aliens.into_iter().chain(["2026-07-28", "x", "0", "null", "latest", "v1"]) {
            let mut server = Session::new(offering(Role::Server, revisions));
            server.send(client_hello(1, alien, &json!({})));
            assert_eq!(server.sent_one()["result"]["protocolVersion"], newest, "{alien:?}");
        }
    }
}

// proves: VER-06
#[test]
fn ver_06_a_client_leaves_a_server_it_cannot_speak_with() {
    let mut client = Session::new_client();
    client.sent();
    client.send(result(1, server_hello("2099-01-01", &json!({}))));
    assert_eq!(client.sent(), [] as [Value; 0]);
    let CloseReason::Handshake(error) = client.close_reason() else { panic!() };
    assert_eq!(error.kind(), ErrorKind::VersionMismatch);
    assert!(error.message().contains("2099-01-01") && error.message().contains("2024-11-05"), "{error}");
    let data = error.data().expect("the two versions").to_value().expect("a tree");
    assert_eq!(data, json!({ "supported": ["2099-01-01"], "requested": "2024-11-05" }));
}

// proves: VER-07
#[test]
fn ver_07_the_error_that_other_servers_use_is_understood() {
    let mut client = Session::new_client();
    let data = json!({ "supported": ["2023-01-01"], "requested": "2024-11-05" });
    client.send(json!({ "jsonrpc": "2.0", "id": 1, "error":
        { "code": -32602, "message": "Unsupported protocol version", "data": data } }));
    let CloseReason::Handshake(error) = client.close_reason() else { panic!() };
    assert_eq!(error.kind(), ErrorKind::VersionMismatch);
    assert_eq!(error.data().expect("kept").to_value().expect("a tree"), data);
    // Other invalid parameters are no version mismatch.
    let mut client = Session::new_client();
    client.send(json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": -32602, "message": "no", "data": { "x": 1 } } }));
    let CloseReason::Handshake(error) = client.close_reason() else { panic!() };
    assert_eq!((error.kind(), error.code()), (ErrorKind::Handshake, Some(-32602)));
    assert!(error.data().is_some());
}

// proves: VER-10
#[test]
fn ver_10_a_version_is_a_string() {
    for bad in [json!(20_241_105), Value::Null, json!(["2024-11-05"])] {
        let mut server = Session::new_server();
        let mut hello = client_hello(1, "", &json!({}));
        hello["params"]["protocolVersion"] = bad;
        server.send(hello);
        assert_eq!(server.refused(1), -32602);
    }
}

// proves: VER-11, VER-12
#[test]
fn ver_12_an_older_answer_rules_the_session() {
    let mut client = Session::new(offering(Role::Client, &Revision::ALL[..4])).started();
    assert_eq!(client.sent_one()["params"]["protocolVersion"], "2025-11-25");
    client.send(result(1, server_hello("2024-11-05", &everything(Role::Server))));
    assert_eq!(client.engine.revision(), Revision::V2024_11_05);
    client.sent();
    // 2024-11-05 has no capability for completion (COMP-09), later revisions do.
    client.ask("completion/complete");
    assert_eq!(client.sent_one()["method"], "completion/complete");

    let mut client = Session::new(offering(Role::Client, &Revision::ALL[..4])).started();
    client.send(result(1, server_hello("2025-06-18", &everything(Role::Server))));
    assert_eq!(kind(client.try_ask(outgoing("completion/complete"))), ErrorKind::Unsupported);
}
