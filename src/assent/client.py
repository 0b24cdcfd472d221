"""What does the author of an agent import?"""

from assent.edges.client.allowances import Anything as Anything
from assent.edges.client.allowances import AtMost as AtMost
from assent.edges.client.allowances import OneOf as OneOf
from assent.edges.client.allowances import Remember as Remember
from assent.edges.client.askers import Terminal as Terminal
from assent.edges.client.askers import leave_to_server as leave_to_server
from assent.edges.client.askers import refuse as refuse
from assent.edges.client.budget import Budget as Budget
from assent.edges.client.connection import Unreached as Unreached
from assent.edges.client.governed import GovernedClient as GovernedClient
from assent.edges.client.http_keys import mirror_key as mirror_key
from assent.edges.client.journal import Journal as Journal
from assent.edges.client.journal import Noted as Noted
from assent.edges.client.question import Answer as Answer
from assent.edges.client.question import Question as Question
from assent.edges.client.quoting import UNTRUSTED as UNTRUSTED
from assent.edges.client.quoting import model_text as model_text
from assent.edges.client.secrets import Delivery as Delivery
from assent.edges.client.standing import needs_confirmation as needs_confirmation
from assent.edges.client.tool_loop import answer_anthropic as answer_anthropic
from assent.edges.client.tool_loop import answer_openai as answer_openai
from assent.edges.client.tool_loop import anthropic_tools as anthropic_tools
from assent.edges.client.tool_loop import openai_tools as openai_tools
from assent.edges.client.tool_loop import safe_names as safe_names
from assent.edges.client.web_page import WebPage as WebPage
