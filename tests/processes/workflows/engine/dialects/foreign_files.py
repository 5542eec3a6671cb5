"""Processes as other tools write them: the inside of a process, what stands beside it, and what must come of it.

The scripts are those of the corpus of processes, see `tests/processes/workflows/corpus/script.py`.
"""

from tests.processes.workflows.engine.dialects.foreign_elements import (
    HEAD,
    ForeignFile,
    cards,
    chain,
    choice,
    extended,
    flow,
)

SUBSCRIBED = '<message id="m" name="x">' + extended('<zeebe:subscription correlationKey="=a"/>') + "</message>"
FILES: dict[str, ForeignFile] = {
    "ids are optional": ForeignFile(
        '<startEvent/><userTask name="Look at it"/>'
        '<sequenceFlow sourceRef="startEvent~p~1" targetRef="userTask~p~Look-at-it"/>',
        "start -> startEvent~p~1 .. userTask~p~Look-at-it",
    ),
    "a flow may share its id": ForeignFile(
        '<startEvent id="begin"/><task id="a"/><task id="b"/>'
        '<sequenceFlow id="f" sourceRef="begin" targetRef="a"/><sequenceFlow id="f" sourceRef="a" targetRef="b"/>',
        "start -> begin a b == completed",
    ),
    "camunda topic": ForeignFile(
        chain('<serviceTask id="t" camunda:type="external" camunda:topic="mail"/>'),
        "start -> begin .. t\ncomplete t sent=true -> t done == completed with sent=true",
    ),
    "operaton class": ForeignFile(
        chain('<serviceTask id="t" operaton:class="org.example.Send"/>'),
        "start -> begin .. t\ncomplete t -> t done == completed",
    ),
    "flowable delegate": ForeignFile(
        chain('<serviceTask id="t" flowable:delegateExpression="${sender}"/>'), "start -> begin .. t"
    ),
    "activiti expression that is code": ForeignFile(
        chain('<serviceTask id="t" activiti:expression="${bean.send(order)}"/>'), "start -> begin .. t"
    ),
    "an expression of variables is an assignment": ForeignFile(
        chain('<serviceTask id="t" camunda:expression="${price * 2}" camunda:resultVariable="total"/>'),
        "start price=4 -> begin t done == completed with price=4 total=8",
    ),
    "zeebe task definition with mappings": ForeignFile(
        chain(
            '<serviceTask id="t">'
            + extended(
                '<zeebe:taskDefinition type="pay" retries="3"/><zeebe:ioMapping>'
                '<zeebe:input source="=order.total" target="amount"/><zeebe:output source="=receipt.id" target="paid"/>'
                "</zeebe:ioMapping>"
            )
            + "</serviceTask>"
        ),
        'start order={"total":5} -> begin .. t\n'
        'complete t receipt={"id":7} -> t done == completed with order={"total":5} paid=7',
    ),
    "camunda mappings": ForeignFile(
        chain(
            '<userTask id="t">'
            + extended(
                "<camunda:inputOutput>"
                '<camunda:inputParameter name="greeting">Hello ${who}</camunda:inputParameter>'
                '<camunda:inputParameter name="kinds"><camunda:list><camunda:value>a</camunda:value></camunda:list>'
                "</camunda:inputParameter>"
                '<camunda:outputParameter name="said">${greeting}</camunda:outputParameter></camunda:inputOutput>'
            )
            + "</userTask>"
        ),
        'start who="Ann" -> begin .. t\n'
        'complete t ok=true -> t done == completed with who="Ann" said="HelloXAnn" ok=true',
    ),
    "a script in another language is external work": ForeignFile(
        chain('<scriptTask id="t" scriptFormat="groovy"><script>println 1</script></scriptTask>'),
        "start -> begin .. t\ncomplete t -> t done == completed",
    ),
    "a script of assignments is ours": ForeignFile(
        chain('<scriptTask id="t"><script>a = 1; b = a + 1</script></scriptTask>'),
        "start -> begin t done == completed with a=1 b=2",
    ),
    "zeebe script": ForeignFile(
        chain(
            '<scriptTask id="t">' + extended('<zeebe:script expression="=a + 1" resultVariable="b"/>') + "</scriptTask>"
        ),
        "start a=1 -> begin t done == completed with a=1 b=2",
    ),
    "JUEL condition": ForeignFile(
        choice("${amount gt 100 and not empty customer.name}"),
        'start amount=150 customer={"name":"A"} -> begin way yes == completed\nstart amount=5 -> refused',
    ),
    "FEEL condition": ForeignFile(
        choice('=amount > 100 and status = "open"') + "<!-- --><dataObject id='d'/>",
        'start amount=150 status="open" -> begin way yes == completed',
        roots=SUBSCRIBED,
    ),
    "FEEL if and index": ForeignFile(
        choice("=if items[1] = 3 then true else false", kind="inclusive"),
        "start items=[3,4] -> begin way yes == completed",
        roots=SUBSCRIBED,
    ),
    "Java condition of one return": ForeignFile(
        choice("return x == 5;", ' language="http://www.java.com/java"'), "start x=5 -> begin way yes == completed"
    ),
    "a condition that is code is asked of a worker": ForeignFile(
        choice("${bean.decide(order)}"),
        "start -> begin way .. way~asks\n"
        "complete way~asks answer_way_yes_conditionExpression=true -> way~asks way~ways yes == completed",
    ),
    "a condition in a script is asked of a worker": ForeignFile(
        choice("x > 1", ' language="javascript"'),
        "start -> begin way .. way~asks\n"
        "complete way~asks answer_way_yes_conditionExpression=false -> way~asks way~ways no == completed",
    ),
    "a task whose ways part by code": ForeignFile(
        '<startEvent id="begin"/><userTask id="t"/><task id="a"/><task id="b"/>'
        + flow("begin", "t")
        + flow("t", "a", "${one()}")
        + flow("t", "b", "${two()}"),
        "start -> begin .. t\ncomplete t -> t .. t~asks\n"
        "complete t~asks answer_t_a_conditionExpression=true answer_t_b_conditionExpression=true"
        " -> t~asks a b == completed",
    ),
    "ways without conditions": ForeignFile(
        '<startEvent id="begin"/><exclusiveGateway id="way"/><task id="a"/><task id="b"/>'
        + flow("begin", "way")
        + flow("way", "a", "${x}")
        + flow("way", "b"),
        "start x=false -> begin way b == completed",
    ),
    "conditions behind a parallel gateway": ForeignFile(
        '<startEvent id="begin"/><parallelGateway id="way"/><task id="a"/><task id="b"/>'
        + flow("begin", "way")
        + flow("way", "a", "${false}")
        + flow("way", "b"),
        "start -> begin way a b == completed",
    ),
    "complex gateway": ForeignFile(choice("${x}", kind="complex"), "start x=true -> begin way yes == completed"),
    "a message without a reference": ForeignFile(
        chain('<intermediateCatchEvent id="c" name="Paid"><messageEventDefinition/></intermediateCatchEvent>'),
        "start -> begin .. c\nmessage Paid -> c done == completed",
    ),
    "a receive task without a message": ForeignFile(
        chain('<receiveTask id="r"/>'), "start -> begin .. r\ncomplete r -> r done == completed"
    ),
    "a signal without a reference": ForeignFile(
        chain('<intermediateThrowEvent id="s"><signalEventDefinition/></intermediateThrowEvent>'),
        "start -> begin s done == completed gives signal:s",
    ),
    "a literal error code": ForeignFile(
        '<startEvent id="begin"/><subProcess id="sub"><startEvent id="i"/><endEvent id="e">'
        '<errorEventDefinition errorRef="23"/></endEvent><sequenceFlow sourceRef="i" targetRef="e"/></subProcess>'
        '<boundaryEvent id="caught" attachedToRef="sub" cancelActivity="false"><errorEventDefinition errorRef="23"/>'
        '</boundaryEvent><task id="t"/>' + flow("begin", "sub") + flow("caught", "t"),
        "start -> begin i e -sub caught t == completed",
    ),
    "escalation, interrupting or not": ForeignFile(
        '<startEvent id="begin"/><subProcess id="sub"><startEvent id="i"/><intermediateThrowEvent id="e">'
        '<escalationEventDefinition escalationRef="esc"/></intermediateThrowEvent><userTask id="u"/>'
        '<sequenceFlow sourceRef="i" targetRef="e"/><sequenceFlow sourceRef="e" targetRef="u"/></subProcess>'
        '<boundaryEvent id="caught" attachedToRef="sub" cancelActivity="false">'
        '<escalationEventDefinition escalationRef="esc"/></boundaryEvent><task id="t"/>'
        + flow("begin", "sub")
        + flow("caught", "t"),
        "start -> begin i e caught t .. u\ncomplete u -> u sub == completed",
        roots='<escalation id="esc" escalationCode="late"/>',
    ),
    "an escalation that nobody catches": ForeignFile(
        chain(
            '<intermediateThrowEvent id="e"><escalationEventDefinition escalationRef="esc"/></intermediateThrowEvent>'
        ),
        "start -> begin e done == completed",
        roots='<escalation id="esc" name="late"/>',
    ),
    "an escalation starts an event sub-process": ForeignFile(
        '<startEvent id="begin"/><endEvent id="e"><escalationEventDefinition escalationRef="late"/></endEvent>'
        + flow("begin", "e")
        + '<subProcess id="esp" triggeredByEvent="true"><startEvent id="s" isInterrupting="false">'
        '<escalationEventDefinition/></startEvent><userTask id="u"/><sequenceFlow sourceRef="s" targetRef="u"/>'
        "</subProcess>",
        "start -> begin e s .. u\ncomplete u -> u esp == completed",
    ),
    "a transaction that is cancelled": ForeignFile(
        '<startEvent id="begin"/><transaction id="tx"><startEvent id="i"/><userTask id="pay"/>'
        '<boundaryEvent id="undo" attachedToRef="pay"><compensateEventDefinition/></boundaryEvent>'
        '<userTask id="refund" isForCompensation="true"/><association sourceRef="undo" targetRef="refund"/>'
        '<endEvent id="no"><cancelEventDefinition/></endEvent><sequenceFlow sourceRef="i" targetRef="pay"/>'
        '<sequenceFlow sourceRef="pay" targetRef="no"/></transaction>'
        '<boundaryEvent id="gone" attachedToRef="tx"><cancelEventDefinition/></boundaryEvent><task id="after"/>'
        '<task id="ok"/>' + flow("begin", "tx") + flow("gone", "after") + flow("tx", "ok"),
        "start -> begin i .. pay\ncomplete pay -> pay .. refund\n"
        "complete refund -> refund no -tx gone after == completed",
    ),
    "links": ForeignFile(
        '<startEvent id="begin"/><intermediateThrowEvent id="out"><linkEventDefinition name="x"/>'
        '</intermediateThrowEvent><intermediateCatchEvent id="in"><linkEventDefinition name="x"/>'
        '</intermediateCatchEvent><task id="t"/>' + flow("begin", "out") + flow("in", "t"),
        "start -> begin out in t == completed",
    ),
    "several definitions, any of them": ForeignFile(
        chain(
            '<intermediateCatchEvent id="c"><messageEventDefinition messageRef="m"/>'
            "<timerEventDefinition><timeDuration>PT1H</timeDuration></timerEventDefinition></intermediateCatchEvent>"
        ),
        "start -> begin .. c~1 c~2\ntimer c~2 -> c c~2 c~all done == completed",
        roots='<message id="m" name="asked"/>',
    ),
    "several definitions, all of them": ForeignFile(
        chain(
            '<intermediateCatchEvent id="c" parallelMultiple="true"><messageEventDefinition messageRef="m"/>'
            "<timerEventDefinition><timeDuration>PT1H</timeDuration></timerEventDefinition></intermediateCatchEvent>"
        ),
        "start -> begin c .. c~1 c~2\ntimer c~2 -> c~2 .. c~1 c~all\nmessage asked -> c~1 c~all done == completed",
        roots='<message id="m" name="asked"/>',
    ),
    "several definitions thrown": ForeignFile(
        chain(
            '<intermediateThrowEvent id="c"><messageEventDefinition messageRef="m"/>'
            '<signalEventDefinition signalRef="s"/></intermediateThrowEvent>'
        ),
        "start -> begin c~1 c done == completed gives throw:asked signal:rung",
        roots='<message id="m" name="asked"/><signal id="s" name="rung"/>',
    ),
    "a boundary event of two": ForeignFile(
        '<startEvent id="begin"/><userTask id="t"/><boundaryEvent id="b" attachedToRef="t">'
        '<signalEventDefinition signalRef="s"/><messageEventDefinition messageRef="m"/></boundaryEvent><task id="x"/>'
        + flow("begin", "t")
        + flow("b", "x"),
        "start -> begin .. b b~2 t\nmessage asked -> -t b~2 b~all x == completed",
        roots='<message id="m" name="asked"/><signal id="s" name="rung"/>',
    ),
    "an ad-hoc sub-process with a condition": ForeignFile(
        '<startEvent id="begin"/><adHocSubProcess id="any"><userTask id="a"/><userTask id="b"/>'
        "<completionCondition>${enough}</completionCondition></adHocSubProcess>" + flow("begin", "any"),
        "start -> begin startEvent~any .. a any~ends~start b\n"
        "complete a -> a .. any~ends~start b\nset enough=true -> -b any~ends~start any~ends any == completed",
    ),
    "no start event": ForeignFile(
        '<userTask id="a"/><task id="b"/>' + flow("a", "b"),
        "start -> startEvent~p .. a\ncomplete a -> a b == completed",
    ),
    "two start events": ForeignFile(
        '<startEvent id="one"/><startEvent id="two"/><task id="a"/>' + flow("one", "a") + flow("two", "a"),
        "start -> one a == completed",
    ),
    "a receive task begins the process": ForeignFile(
        '<receiveTask id="r" instantiate="true" messageRef="m"/><task id="a"/>' + flow("r", "a"),
        "start@r -> r a == completed",
        roots='<message id="m" name="asked"/>',
    ),
    "a gateway begins the process": ForeignFile(
        '<eventBasedGateway id="g" instantiate="true"/><intermediateCatchEvent id="c">'
        '<messageEventDefinition messageRef="m"/></intermediateCatchEvent><task id="a"/>'
        + flow("g", "c")
        + flow("c", "a"),
        "start@c -> c a == completed",
        roots='<message id="m" name="asked"/>',
    ),
    "cron": ForeignFile(
        '<startEvent id="begin"/><userTask id="t"/><boundaryEvent id="b" attachedToRef="t" cancelActivity="false">'
        "<timerEventDefinition><timeCycle>0 0 8 ? * MON-FRI</timeCycle></timerEventDefinition></boundaryEvent>"
        '<task id="x"/>' + flow("begin", "t") + flow("b", "x"),
        "start -> begin .. b t\ntimer b@2030-01-01T08:00 -> b x .. b t\ntimer b@2030-01-02T08:00 -> b x .. b t",
    ),
    "a timer that is code": ForeignFile(
        chain(
            '<intermediateCatchEvent id="c"><timerEventDefinition><timeDuration>${bean.wait()}</timeDuration>'
            "</timerEventDefinition></intermediateCatchEvent>"
        ),
        "start -> begin .. c\nmessage c -> c done == completed",
    ),
    "a timer of the wrong kind": ForeignFile(
        chain(
            '<intermediateCatchEvent id="c"><timerEventDefinition><timeDate>PT1H</timeDate></timerEventDefinition>'
            "</intermediateCatchEvent>"
        ),
        "start -> begin .. c\ntimer c@2030-01-01T01:00 -> c done == completed",
    ),
    "camunda collection": ForeignFile(
        chain(
            '<userTask id="t">'
            + cards('camunda:collection="${order.parts}" camunda:elementVariable="part" isSequential="true"')
            + "</userTask>"
        ),
        'start order={"parts":[1,2]} -> begin .. t\ncomplete t -> t .. t\ncomplete t -> t done == completed',
    ),
    "zeebe collection": ForeignFile(
        chain(
            '<userTask id="t">'
            + cards(
                'isSequential="true"',
                extended(
                    '<zeebe:loopCharacteristics inputCollection="=parts" inputElement="part"'
                    ' outputCollection="results" outputElement="=part * 2"/>'
                ),
            )
            + "</userTask>"
        ),
        "start parts=[1,2] -> begin .. t\ncomplete t -> t .. t\n"
        "complete t -> t done == completed with parts=[1,2] results=[2,4]",
    ),
    "a collection that is code": ForeignFile(
        chain('<userTask id="t">' + cards('flowable:collection="${bean.list()}"') + "</userTask>"),
        "start -> begin .. t~asks\ncomplete t~asks answer_t_flowable_collection=[1] -> t~asks .. t\n"
        "complete t -> t done == completed",
    ),
    "no number of rounds": ForeignFile(
        chain(f'<userTask id="t">{cards("")}</userTask>'), "start -> begin .. t\ncomplete t -> t done == completed"
    ),
    "data inputs of the standard": ForeignFile(
        chain(
            '<userTask id="t"><ioSpecification><dataInput id="_in"/></ioSpecification><dataInputAssociation>'
            "<sourceRef>list</sourceRef><targetRef>_in</targetRef></dataInputAssociation>"
            + cards('isSequential="true"', "<loopDataInputRef>_in</loopDataInputRef>")
            + "</userTask>"
        ),
        "start list=[1] -> begin .. t\ncomplete t -> t done == completed",
    ),
    "a call that passes on and takes back": ForeignFile(
        chain(
            '<callActivity id="t" calledElement="callee">'
            + extended(
                '<camunda:in source="order" target="given"/>'
                '<camunda:in sourceExpression="${order * 2}" target="twice"/>'
                '<camunda:in businessKey="#{execution.processBusinessKey}"/>'
                '<camunda:out source="answer" target="result"/>'
            )
            + "</callActivity>"
        ),
        "start order=3 other=1 -> begin ask .. look\n"
        "complete look answer=7 secret=1 -> look t done == completed with order=3 other=1 result=7",
    ),
    "a call by an expression": ForeignFile(
        chain('<callActivity id="t" calledElement="${which}"/>'), 'start which="callee" -> begin ask .. look'
    ),
    "zeebe call": ForeignFile(
        chain('<callActivity id="t">' + extended('<zeebe:calledElement processId="callee"/>') + "</callActivity>"),
        "start -> begin ask .. look",
    ),
    "a call of nothing": ForeignFile(chain('<callActivity id="t"/>'), "start -> begin t done == completed"),
    "asynchronous": ForeignFile(
        chain('<task id="t" camunda:asyncBefore="true" flowable:async="true"/>'), "start -> begin t done == completed"
    ),
    "a rule task": ForeignFile(chain('<businessRuleTask id="t" camunda:class="x.Y"/>'), "start -> begin .. t"),
    "compensation that leads nowhere": ForeignFile(
        '<startEvent id="begin"/><task id="t"/><boundaryEvent id="b" attachedToRef="t"><compensateEventDefinition/>'
        "</boundaryEvent>" + flow("begin", "t"),
        "start -> begin t == completed",
    ),
    "lengths of jBPM": ForeignFile(
        chain(
            '<intermediateCatchEvent id="c"><timerEventDefinition><timeDuration>1h30m</timeDuration>'
            "</timerEventDefinition></intermediateCatchEvent>"
        ),
        "start -> begin .. c\ntimer c@2030-01-01T01:30 -> c done == completed",
    ),
    "data associations of a call": ForeignFile(
        chain(
            '<callActivity id="t" tns:calledElementByName="callee"><ioSpecification><dataInput id="_i" name="given"/>'
            '<dataOutput id="_o" name="answer"/></ioSpecification><dataInputAssociation><sourceRef>order</sourceRef>'
            "<targetRef>_i</targetRef></dataInputAssociation><dataOutputAssociation><sourceRef>_o</sourceRef>"
            "<targetRef>result</targetRef></dataOutputAssociation></callActivity>"
        ),
        "start order=3 -> begin ask .. look\n"
        "complete look answer=7 secret=1 -> look t done == completed with order=3 result=7",
    ),
    "words of Python": ForeignFile(choice("x is not None"), "start x=1 -> begin way yes == completed"),
    "a call without a mark": ForeignFile(choice("check(x)"), "start x=1 -> begin way .. way~asks"),
    "FEEL by its language": ForeignFile(choice("x = 5", ' language="feel"'), "start x=5 -> begin way yes == completed"),
    "flows that cannot be": ForeignFile(
        '<startEvent id="begin"/><task id="t"/><endEvent id="done"/>'
        + flow("begin", "t")
        + flow("t", "done")
        + flow("t", "begin")
        + flow("done", "t"),
        "start -> begin t done == completed",
    ),
    "a decision that code chooses": ForeignFile(
        chain('<businessRuleTask id="t" camunda:decisionRef="${bean.which()}"/>'), "start -> begin .. t"
    ),
    "an event registry": ForeignFile(
        '<startEvent id="begin"/><userTask id="t"/><boundaryEvent id="b" attachedToRef="t">'
        + extended("<flowable:eventType>parcel</flowable:eventType>")
        + '</boundaryEvent><task id="x"/>'
        + flow("begin", "t")
        + flow("b", "x"),
        "start -> begin .. b t\nmessage parcel -> -t b x == completed",
    ),
}
POOLS = (
    f'{HEAD}<collaboration id="c"><participant id="x" processRef="buyer"/><participant id="y" processRef="seller"/>'
    '<messageFlow id="mf" name="order" sourceRef="send" targetRef="got"/></collaboration>'
    '<process id="buyer" isExecutable="true"><startEvent id="b"/><sendTask id="send"/>'
    '<sequenceFlow sourceRef="b" targetRef="send"/></process>'
    '<process id="seller" isExecutable="true"><laneSet><lane id="shop" name="Shop"/></laneSet>'
    '<startEvent id="got"><messageEventDefinition/></startEvent></process>'
    '<process id="drawn" name="Beside"><startEvent id="d"/></process></definitions>'
).encode()
