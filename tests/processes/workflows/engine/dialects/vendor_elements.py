"""Elements with all that other engines may say of them, each in a process of its own: every one is accepted.

An attribute or element of another engine that is not in `UNSAID` is named by one of the lists of the report.
"""

from itertools import product

from tests.processes.workflows.engine.dialects.foreign_elements import HEAD, chain, extended

_HEAD = HEAD.replace(
    "<definitions ",
    '<definitions xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
    ' xmlns:spiffworkflow="http://spiffworkflow.org/bpmn/schema/1.0/core" ',
)
ROOTS = (
    '<message id="m" name="asked"/><signal id="s" name="rung"/><error id="e" errorCode="E"/>'
    '<escalation id="l" escalationCode="L"/><itemDefinition id="i" structureRef="String"/>'
    '<interface id="f" name="F"><operation id="o"><inMessageRef>m</inMessageRef></operation></interface>'
    '<dataStore id="d"/><category id="c"><categoryValue id="v"/></category><resource id="r" name="R"/>'
    '<correlationProperty id="p1"/><globalUserTask id="u1"/><import importType="x" location="a.xsd" namespace="x"/>'
)
WORK = (
    'camunda:class="a.B"',
    'camunda:delegateExpression="${sender}"',
    'camunda:expression="${bean.send(order)}"',
    'camunda:expression="#{order}"',
    'camunda:type="external" camunda:topic="${topic}" camunda:taskPriority="${p}"',
    'camunda:type="mail" camunda:asyncBefore="true" camunda:exclusive="false" camunda:jobPriority="5"',
    'operaton:type="external" operaton:topic="mail"',
    'flowable:type="http" flowable:parallelInSameTransaction="true"',
    'flowable:type="external-worker" flowable:topic="t" flowable:triggerable="true" flowable:skipExpression="${x}"',
    'flowable:expression="${a.b()}" flowable:resultVariableName="r" flowable:useLocalScopeForResultVariable="true"',
    'activiti:class="a.B" activiti:extensionId="x"',
    'activiti:type="mule"',
    'implementation="##WebService" operationRef="o"',
    'implementation="connector.action"',
    'tns:taskName="Log" tns:serviceimplementation="Java" tns:serviceoperation="m"',
)
RULES = (
    'camunda:decisionRef="d" camunda:decisionRefBinding="versionTag" camunda:decisionRefVersionTag="1"',
    'camunda:decisionRef="${which}" camunda:mapDecisionResult="singleEntry" camunda:resultVariable="r"',
    'camunda:decisionRef="two words"',
    'activiti:rules="a, b" activiti:ruleVariablesInput="${a}" activiti:resultVariable="r"',
    'tns:ruleFlowGroup="g" implementation="http://www.jboss.org/drools/dmn"',
)
PEOPLE = (
    'camunda:assignee="${bean.who()}" camunda:candidateUsers="a, b , ${c}" camunda:candidateGroups="#{groups}"',
    'camunda:dueDate="${dateTime().plusDays(1).toDate()}" camunda:followUpDate="P1D" camunda:priority="${p}"',
    'camunda:formKey="embedded:app:x.html"',
    'camunda:formRef="f" camunda:formRefBinding="version" camunda:formRefVersion="2"',
    'flowable:category="c" flowable:owner="o" flowable:taskIdVariableName="x" flowable:formFieldValidation="false"',
    'activiti:skipExpression="${a}" activiti:businessCalendarName="b" activiti:formKey="k"',
)
CALLS = (
    'calledElement="x" camunda:calledElementTenantId="t" camunda:variableMappingClass="a.B"',
    'calledElement="${bean.which()}" operaton:calledElementBinding="deployment"',
    'calledElement="two words"',
    'calledElement="x" flowable:inheritVariables="true" flowable:sameDeployment="true" flowable:businessKey="${k}"',
    'calledElement="x" flowable:calledElementType="id" flowable:fallbackToDefaultTenant="true"',
    'calledElement="x" tns:waitForCompletion="false" tns:independent="false"',
    'camunda:caseRef="k" camunda:caseBinding="version" camunda:caseVersion="1"',
    "",
)
INSIDE = (
    "<camunda:connector><camunda:connectorId>http</camunda:connectorId><camunda:inputOutput/></camunda:connector>",
    '<camunda:executionListener event="start" class="a.B"/><camunda:taskListener event="create" expression="${x}"/>',
    '<camunda:properties><camunda:property name="a" value="b"/></camunda:properties>',
    "<camunda:failedJobRetryTimeCycle>R3/PT1M</camunda:failedJobRetryTimeCycle>",
    '<camunda:errorEventDefinition id="x" errorRef="e" expression="${y}"/>',
    '<camunda:inputOutput><camunda:inputParameter name="a"><camunda:script scriptFormat="groovy">1</camunda:script>'
    '</camunda:inputParameter><camunda:outputParameter name="b.c">${d}</camunda:outputParameter></camunda:inputOutput>',
    '<flowable:field name="to"><flowable:string>x</flowable:string></flowable:field><flowable:field name="a.b"/>',
    '<flowable:eventType>e</flowable:eventType><flowable:eventInParameter source="a" target="b"/>',
    '<flowable:mapException errorCode="E">a.B</flowable:mapException>',
    '<activiti:formProperty id="a" type="enum"><activiti:value id="x" name="X"/></activiti:formProperty>',
    '<zeebe:taskDefinition type="=kind" retries="=n"/><zeebe:taskHeaders><zeebe:header key="k" value="v"/>'
    "</zeebe:taskHeaders>",
    '<zeebe:properties><zeebe:property name="a" value="b"/></zeebe:properties>',
    '<zeebe:executionListeners><zeebe:executionListener eventType="start" type="x"/></zeebe:executionListeners>',
    '<zeebe:calledDecision decisionId="=if a then &quot;d&quot; else b" resultVariable="r"/>',
    '<zeebe:calledDecision decisionId="=which(a)" resultVariable="r"/>',
    '<zeebe:calledDecision decisionId="d" resultVariable="two words"/>',
    '<zeebe:adHoc activeElementsCollection="=[&quot;a&quot;]"/><zeebe:linkedResources/>',
    '<spiffworkflow:preScript>a = 1</spiffworkflow:preScript><spiffworkflow:serviceTaskOperator id="x"/>',
    '<tns:metaData name="elementname"><tns:metaValue>x</tns:metaValue></tns:metaData><tns:onEntry-script/>',
)
ROUNDS = (
    "<multiInstanceLoopCharacteristics/>",
    "<multiInstanceLoopCharacteristics><loopCardinality>${bean.count()}</loopCardinality>"
    "<completionCondition>${nrOfCompletedInstances/nrOfInstances gt 0.5}</completionCondition>"
    "</multiInstanceLoopCharacteristics>",
    '<multiInstanceLoopCharacteristics flowable:collection="${bean.list(x)}" flowable:elementVariable="e"'
    ' flowable:elementIndexVariable="i"><extensionElements><flowable:variableAggregation target="all"/>'
    "</extensionElements></multiInstanceLoopCharacteristics>",
    "<multiInstanceLoopCharacteristics><loopDataInputRef>order.parts</loopDataInputRef>"
    '<inputDataItem name="one of them"/></multiInstanceLoopCharacteristics>',
    "<multiInstanceLoopCharacteristics><extensionElements><zeebe:loopCharacteristics"
    ' inputCollection="=for a in b return a" outputCollection="r" outputElement="=a.b"/>'
    "</extensionElements></multiInstanceLoopCharacteristics>",
    '<multiInstanceLoopCharacteristics behavior="One" noneBehaviorEventRef="s"/>',
    "<standardLoopCharacteristics/>",
    "<standardLoopCharacteristics><loopCondition>until it is done</loopCondition></standardLoopCharacteristics>",
)
TIMES = (
    "<timeDuration>PT${n}M</timeDuration>",
    '<timeDuration>=duration("PT" + string(n) + "H")</timeDuration>',
    "<timeDuration>#{bean.wait()}</timeDuration>",
    "<timeDuration>1h30m</timeDuration>",
    "<timeDate>2030-03-11T12:13:14.999+01:00[Europe/Berlin]</timeDate>",
    "<timeDate>=now() + duration(&quot;PT1H&quot;)</timeDate>",
    "<timeDate>2030-01-01</timeDate>",
    "<timeDate>first Monday of the month</timeDate>",
    "<timeCycle>R3/2030-01-01T00:00:00Z/P1D</timeCycle>",
    "<timeCycle>R/PT1H/2031-01-01T00:00:00Z</timeCycle>",
    "<timeCycle>R${n}/PT${m}M</timeCycle>",
    '<timeCycle flowable:endDate="${end}">0 0/5 9-17 ? * MON-FRI</timeCycle>',
    "<timeCycle>0 0 12 LW * ?</timeCycle>",
    "<timeCycle>=cycle(3, duration(&quot;PT1H&quot;))</timeCycle>",
    "<timeCycle>500ms###1s</timeCycle>",
    "<timeDuration/>",
    "",
)
EVENTS = (
    "<conditionalEventDefinition camunda:variableName='x' camunda:variableEvents='create, update'/>",
    "<conditionalEventDefinition><condition language='groovy'>x.y()</condition></conditionalEventDefinition>",
    "<conditionalEventDefinition><condition>stock is low</condition></conditionalEventDefinition>",
    "<messageEventDefinition/>",
    '<messageEventDefinition messageRef="tns:m" camunda:class="a.B"/>',
    '<messageEventDefinition messageRef="nobody"><operationRef>o</operationRef></messageEventDefinition>',
    '<signalEventDefinition signalRef="s" flowable:scope="processInstance" camunda:async="true"/>',
    '<signalEventDefinition flowable:signalExpression="${x}"/>',
    '<errorEventDefinition errorRef="500" camunda:errorCodeVariable="c" camunda:errorMessageVariable="m n"/>',
    '<escalationEventDefinition escalationRef="l"/>',
    "<cancelEventDefinition/>",
    '<compensateEventDefinition waitForCompletion="true"/>',
    "<terminateEventDefinition camunda:terminateAll='true'/>",
    '<linkEventDefinition name="l"><source>x</source></linkEventDefinition>',
)


def _write(body: str) -> bytes:
    return f'{_HEAD}{ROOTS}<process id="p" isExecutable="true">{body}</process></definitions>'.encode()


def _list_elements() -> list[str]:
    """Every activity with every attribute that it can have, then with every extension and loop."""
    found = [
        f'<{kind} id="t" {said}/>' for kind, said in product(("serviceTask", "sendTask", "businessRuleTask"), WORK)
    ]
    found += [f'<businessRuleTask id="t" {said}/>' for said in RULES]
    found += [f'<userTask id="t" {said}/>' for said in PEOPLE] + [f'<callActivity id="t" {said}/>' for said in CALLS]
    kinds = ("task", "userTask", "serviceTask", "receiveTask", "businessRuleTask", "subProcess", "adHocSubProcess")
    found += [f'<{kind} id="t">{extended(inner)}</{kind}>' for kind, inner in product(kinds, INSIDE)]
    found += [f'<{kind} id="t">{inner}</{kind}>' for kind, inner in product(kinds, ROUNDS)]
    return found


def _list_events() -> list[str]:
    """Every event with every trigger, wherever it stands."""
    triggers = [f"<timerEventDefinition>{time}</timerEventDefinition>" for time in TIMES] + list(EVENTS)
    kinds = ("intermediateCatchEvent", "intermediateThrowEvent")
    found = [chain(f'<{kind} id="t">{trigger}</{kind}>') for kind, trigger in product(kinds, triggers)]
    for trigger in triggers:
        found.append(f'<startEvent id="s">{trigger}</startEvent><endEvent id="t">{trigger}</endEvent>')
        found.append(
            chain('<userTask id="t"/>')
            + f'<boundaryEvent id="b" attachedToRef="t" cancelActivity="false">{trigger}</boundaryEvent>'
        )
        found.append(
            '<startEvent id="s"/><subProcess id="t" triggeredByEvent="true">'
            f'<startEvent id="i" isInterrupting="false">{trigger}</startEvent></subProcess>'
        )
    return found


ELEMENTS = [_write(chain(element)) for element in _list_elements()]
IN_EVENTS = [_write(body) for body in _list_events()]
UNSAID = frozenset(
    {
        "type",  # said with the topic of the work
        "mapDecisionResult",
        "resultVariable",
        "decisionRef",
        "calledDecision",
        "taskHeaders",  # each part of these is
        "inputOutput",
        "loopCharacteristics",
        "formRefBinding",  # said with the form
        "formRefVersion",
        "decisionRefBinding",  # said with the version tag
        "caseBinding",
        "caseVersion",
        "errorCode",
        "value",
        "elementVariable",  # said with the collection
    }
)
"""Read where the element is, as it stands, or said under another name."""
