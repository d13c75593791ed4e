"""The interop client, made with the Python SDK `mcp` 1.x: `client.py -- SERVER_COMMAND…`."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import anyio
from mcp import ClientSession, McpError, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.shared.context import RequestContext
from mcp.shared.session import RequestResponder
from pydantic import AnyUrl, BaseModel, FileUrl

sys.path.insert(0, str(Path(__file__).parents[1] / "python"))
import program
from peer import Inbox, Json, Lists, OnProgress, Peer, RpcError


def wire(model: BaseModel) -> Json:
    return model.model_dump(by_alias=True, mode="json", exclude_none=True)


@contextmanager
def errors() -> Iterator[None]:
    try:
        yield
    except McpError as error:
        raise RpcError(error.error.code, error.error.message, error.error.data) from None


class Mcp1(Peer):
    def __init__(self, session: ClientSession, inbox: Inbox) -> None:
        super().__init__(inbox)
        self.session = session

    async def initialize(self) -> Json:
        with errors():
            return wire(await self.session.initialize())

    async def ping(self) -> None:
        with errors():
            await self.session.send_ping()

    async def list_page(self, what: Lists, cursor: str | None) -> Json:
        session = self.session
        lists: dict[str, Callable[..., Awaitable[BaseModel]]] = {
            "tools": session.list_tools,
            "resources": session.list_resources,
            "resourceTemplates": session.list_resource_templates,
            "prompts": session.list_prompts,
        }
        with errors():
            return wire(await lists[what](params=types.PaginatedRequestParams(cursor=cursor)))

    async def call(self, name: str, arguments: Json, on_progress: OnProgress | None = None) -> Json:
        async def progress(progress: float, total: float | None, message: str | None) -> None:
            assert on_progress is not None
            on_progress(progress, total)

        with errors():
            callback = progress if on_progress else None
            return wire(await self.session.call_tool(name, arguments, progress_callback=callback))

    async def cancelled_call(self, name: str, arguments: Json) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.call, name, arguments)
            await anyio.wait_all_tasks_blocked()
            # This SDK tells the server nothing when the task is cancelled, and no public member has the id.
            request_id = self.session._request_id - 1
            await self.ping()
            params = types.CancelledNotificationParams(requestId=request_id, reason="no longer wanted")
            await self.session.send_notification(types.ClientNotification(types.CancelledNotification(params=params)))
            tasks.cancel_scope.cancel()

    async def read(self, uri: str) -> Json:
        with errors():
            return wire(await self.session.read_resource(AnyUrl(uri)))

    async def subscribe(self, uri: str) -> None:
        with errors():
            await self.session.subscribe_resource(AnyUrl(uri))

    async def unsubscribe(self, uri: str) -> None:
        with errors():
            await self.session.unsubscribe_resource(AnyUrl(uri))

    async def get_prompt(self, name: str, arguments: dict[str, str] | None) -> Json:
        with errors():
            return wire(await self.session.get_prompt(name, arguments))

    async def complete(self, prompt: str, argument: str, value: str) -> Json:
        reference = types.PromptReference(type="ref/prompt", name=prompt)
        with errors():
            return wire(await self.session.complete(reference, {"name": argument, "value": value}))

    async def set_level(self, level: str) -> None:
        with errors():
            await self.session.set_logging_level(cast("types.LoggingLevel", level))

    async def roots_changed(self) -> None:
        await self.session.send_roots_list_changed()

    async def request(self, method: str) -> Json:
        # `send_request` is typed for the SDK's own methods, but sends any model that has the right shape.
        custom = types.Request[Any, str](method=method, params=None)
        with errors():
            return wire(await self.session.send_request(cast("types.ClientRequest", custom), types.EmptyResult))


async def connect(argv: list[str], inbox: Inbox, use: Callable[[Peer], Awaitable[None]]) -> None:
    async def on_log(params: types.LoggingMessageNotificationParams) -> None:
        inbox.notification("notifications/message", wire(params))

    async def on_message(
        message: RequestResponder[types.ServerRequest, types.ClientResult] | types.ServerNotification | Exception,
    ) -> None:
        if isinstance(message, Exception):
            inbox.faults.append(str(message))
        elif isinstance(message, types.ServerNotification):
            notification = wire(message.root)
            if notification["method"] != "notifications/message":
                inbox.notification(notification["method"], notification.get("params", {}))

    async def on_sampling(
        context: RequestContext[ClientSession, Any], params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult | types.ErrorData:
        answer = inbox.answer(wire(params))
        if answer is None:
            return types.ErrorData(code=-1, message="the user refused")
        content = types.TextContent(type="text", text=answer)
        return types.CreateMessageResult(role="assistant", content=content, model="m", stopReason="endTurn")

    async def on_roots(context: RequestContext[ClientSession, Any]) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri=FileUrl(uri)) for uri in inbox.roots])

    server = StdioServerParameters(command=argv[0], args=argv[1:])
    async with (
        stdio_client(server) as (reader, writer),
        ClientSession(
            reader,
            writer,
            sampling_callback=on_sampling,
            list_roots_callback=on_roots,
            logging_callback=on_log,
            message_handler=on_message,
            client_info=types.Implementation(name="interop-py1", version="1.0.0"),
        ) as session,
    ):
        await use(Mcp1(session, inbox))


if __name__ == "__main__":
    program.main(connect)
